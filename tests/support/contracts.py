"""What fulfils which contract, for the type checker: `make lint` reads it, nothing runs it."""

from isotherm.data.base import Block, Summary
from isotherm.data.counts import Counts
from isotherm.data.linked import LinkedBlock
from isotherm.data.stored import StoredCounts
from isotherm.data.table import CountTable
from isotherm.data.vectors import VectorBlock, VectorSummary
from isotherm.models.aspect import Aspect, AspectParams, AspectRows, AspectStats
from isotherm.models.base import CountModel, GrowingModel, Model
from isotherm.models.cluster import Cluster
from isotherm.models.document import Document
from isotherm.models.dtm import DTM
from isotherm.models.gtm import Gtm, GtmParams, GtmStats, NoRows
from isotherm.models.hierarchy import Hierarchy, HierarchyParams, HierarchyRows, NodeStats
from isotherm.models.lap_plsi import LapPLSI
from isotherm.models.lda import Lda, LdaParams, LdaRows, LdaStats
from isotherm.models.linked import LinkedParams, LinkedRows, LinkedStats
from isotherm.models.ltm import LTM
from isotherm.models.pcp import FactorizedPcp, FactorizedRows, FactorizedStats, Pcp, PcpParams
from isotherm.models.row_mixture import ClusterParams, ClusterRows, ClusterStats
from isotherm.models.segments import Segments
from isotherm.models.tied import Tied
from isotherm.models.ttmm import Ttmm, TtmmParams
from isotherm.models.two_sided import TwoSided, TwoSidedParams
from isotherm.placement.base import Data
from isotherm.placement.cluster.remote import Remote
from isotherm.placement.disk.streamed import Streamed
from isotherm.placement.local import Local

aspects: type[GrowingModel[AspectParams, AspectRows, AspectStats, Block]] = Aspect
clusters: type[GrowingModel[ClusterParams, ClusterRows, ClusterStats, Block]] = Cluster
documents: type[GrowingModel[ClusterParams, ClusterRows, ClusterStats, Block]] = Document
maps: type[Model[GtmParams, NoRows, GtmStats, VectorBlock, VectorSummary]] = Gtm
hierarchies: type[
    CountModel[HierarchyParams, HierarchyRows | ClusterRows, NodeStats | ClusterStats, Block]
] = Hierarchy
laplacians: type[CountModel[LinkedParams, LinkedRows, LinkedStats, LinkedBlock]] = LapPLSI
local_topics: type[CountModel[LinkedParams, LinkedRows, LinkedStats, LinkedBlock]] = LTM
apart: type[CountModel[LinkedParams, LinkedRows, LinkedStats, LinkedBlock]] = DTM
structured: type[CountModel[PcpParams, ClusterRows, ClusterStats, Block]] = Pcp
factorized: type[CountModel[PcpParams, FactorizedRows, FactorizedStats, Block]] = FactorizedPcp
themes: type[CountModel[TtmmParams, ClusterRows, ClusterStats, Block]] = Ttmm
two_sided: type[CountModel[TwoSidedParams, ClusterRows, ClusterStats, Block]] = TwoSided
segments: type[CountModel[ClusterParams, ClusterRows, ClusterStats, Block]] = Segments
tied: type[CountModel[ClusterParams, ClusterRows, ClusterStats, Block]] = Tied
dirichlet: type[CountModel[LdaParams, LdaRows, LdaStats, Block]] = Lda

here: type[Data[Block, Summary, Counts]] = Local
on_disk: type[Data[Block, Summary, StoredCounts]] = Streamed
on_workers: type[Data[Block, Summary, CountTable]] = Remote

in_memory: type[CountTable] = Counts
stored: type[CountTable] = StoredCounts
