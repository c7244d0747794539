"""Words that say nothing about the subject of a docstring.

``ENGLISH`` holds the function words of the language, ``BOILERPLATE`` what documentation of code
says on every subject. Words of one or two letters are dropped before and not listed.
"""

ENGLISH = frozenset(
    """
    ability able about above accordingly accurately across actual actually after afterwards
    again against agree all allow allowed allowing allows almost alone along already also
    although altogether always among amount analogous and another any anyone anything anyway
    anywhere apart appropriate approximately arbitrarily arbitrary are aren around aside aspect
    associated away back became because become becomes been before beforehand behind being
    belong below beside besides best better between beyond big both briefly bring but came can
    cannot care careful carefully case cases cause caused causes causing certain certainly
    choice choices choose chooses choosing chosen clear clearly closely closer come comes common
    commonly complete completely consequently consider considered considering considers consist
    consisting consists contrary could couldn currently decide definitely denote denoted
    denoting depend depended depending depends desired despite detail detailed details did didn
    differ different differently difficult directly discussed discussion does doesn doing don
    done down due during each earlier early easier easily easy effective eight either else
    elsewhere employed encountered end ends enough ensure ensures ensuring enter entire entirely
    equally especially essentially etc even eventually ever every everyone everything everywhere
    exactly except excluding explicit explicitly extra extremely fairly fall far few fewer find
    finds first five fixed follow followed following follows for former found four fourth from
    full fully further furthermore gave general generally get gets getting give given gives
    giving goes going gone good got guarantee guaranteed had hand hardly has hasn have haven
    having helpful hence her here high higher highest highly him his how however idea ideally
    identical identically iff iii immediately implied imply important include included includes
    including indeed indicate indicated indicates indicating instead intended interest
    interested interesting into involve involved involves involving irrespective isn ith its
    itself just keep keeping keeps kept kind know known knows large largely last later latter
    lead leads least leave leaves leaving left less let lets lie like likely little long longer
    look looking looks lose lost lot low lower lowest made main mainly make makes making many
    matter may maybe means meant mentioned merely met middle might minus more moreover most
    mostly much must namely nature near nearly necessarily necessary need needed needing needs
    neither never nevertheless new newly next nice nine non none nonetheless nor normally not
    nothing notice now nowhere nth obtain obtained obtaining obtains obvious obviously off often
    old older once one ones only onto opposed opposite other others otherwise our ours out
    outside over overall own particular particularly past per perfect perfectly perhaps place
    placed please plus portion possibility possible possibly potential potentially practice pre
    precise precisely preferable preferred presence present presented previous previously prior
    probably purpose purposes put quite rather reach readily really reason reasonable reasons
    refer referred refers regard regarded regarding regardless relatively remain remaining
    remains remember resp respect respective respectively rest result resulting results right
    roughly said same satisfying say says second see seem seems seen self sense separate
    separately serve serves seven several shall share she should shouldn show showing shown
    shows side silently similar similarly simple simpler simply since six slightly small some
    someone something sometimes somewhat somewhere soon sort special specific specifically stand
    still straightforward strictly strong strongly successfully such sufficient sufficiently
    suitable suited suppose sure surprising take taken takes taking tell ten tend tends than
    that the their theirs them themselves then thence there thereby therefore these they thing
    things third this those though thought three through throughout thus together too top toward
    towards treat treated treats tried tries true try trying turn turned turns twice two typical
    typically under underlying understand unless unlike unnecessary until upon used useful using
    usual usually various versa versus very via vice want wanted wants was wasn way ways weak
    well went were weren what whatever when whenever where whereas whereby wherein wherever
    whether which whichever while who whole whom whose why wide will wish wishes with within
    without won worse worst worth would wouldn xxx yes yet yielding you your yours yourself
    zeroth
    """.split()
)

BOILERPLATE = frozenset(
    """
    abbreviation accept acceptable accepted accepting accepts accessed accordance according
    achieve achieved act add added adding addition additional additionally adds adjust advanced
    advantage advised affect affected affects aka alias allocated allowable alternate
    alternative alternatively alternatives api appear appearance appears append appended
    applicable applied applies apply applying approach arg args argument arguments array arrays
    articles assign assigned assume assumed assumes assuming attempt attempted attempts
    attribute attributes author auto automatic automatically available avoid avoided avoids
    aware backward base based basic basically begin beginning behave behaves behavior behaviour
    benefit bool boolean build building builds built builtin calculate calculated calculates
    calculating calculation calculations call callable called caller calling calls capable
    carried change changed changes changing char check checked checking checks class classes cls
    code coef collection com combine combined compared comparing compatibility compatible
    computation computations compute computed computes computing concept configure consistent
    constant construct constructed constructing construction constructor constructs consult
    contain contained containing contains content contents continue contrast control controlled
    controls convenience convenient convention conventions conversion convert converted
    converting converts copied copies copy copying copyright correct correctly correspond
    corresponding corresponds create created creates creating creation current custom data deal
    dealing decided def default defaulting defaults define defined defines defining definition
    definitions delegates demonstrate demonstrated demonstrates deprecated deprecation derive
    derived describe described describes describing description designed desirable determination
    determine determined determines determining develop developer dict dictionaries dictionary
    difference differences dir discouraged display displayed doc docstring docstrings document
    documentation documented downstream dtype dtypes dummy duplicate effect effectively effects
    efficiency efficient efficiently element elements elementwise ellipsis emit empty enable
    enabled enables encourage enforce enforced entries entry eps equal equals equivalent
    equivalently error errors evaluate evaluated evaluates evaluating evaluation exact example
    examples exception exceptions exclude excluded exist existing exists expect expected expects
    expensive explained explanation expose exposed exposes express expressed extend extended
    extension fact fail failed fails failure false fashion fast faster favor figure final
    finally finding fine flag flags flexible float floats form formed forms framework func
    function functionality functions future generate generated generates generating generation
    generic glossary goal greater guidance guide handle handled handles handling happen happens
    help helper helpers hold holding holds identify ids ignore ignored ignores ignoring
    illustrate illustration implement implementation implementations implemented implementing
    implements implicit implicitly improve improved improvement incorrect incorrectly increase
    increased increases independent independently individual individually inefficient inf
    inferred info information inherit inherited init initial initialize initialized initially
    inplace input inputs inside instance instances instantiate instantiated instantiating int
    integer integers interface intermediate internal internally interpret interpreted
    interpreting introduce introduced intuitive invalid issue item items iterable iterables
    iterate keyword keywords kwarg kwargs larger largest leading legacy lengthy library license
    limitation limited lineno list listed lists literature located longest maintain maintained
    major manipulate manner manually match matches matching max meaning meaningful meanings
    mechanism meet mention method methods min minor missing modification modifications modified
    modifies modify modifying msg multi multiple mutable name named names ndarray ndarrays
    nonempty nonzero notation note noted notes number numbers numerically numpy obj object
    objects occur occurs offer omit omitted online operate operates operation operations
    optimized option optional optionally options ordinary original originally outcome output
    outputs overhead overridden override overview overwrite overwritten packages pair pairs
    paper param parameter parameters params part parts pass passed passes passing pearu perform
    performance performed performing performs peterson piece placeholder placement plain
    pointing pos positional practical prefer prepare preserve preserved prevent primarily print
    printed prints problem problems proceed produce produced produces producing proper properly
    properties property provide provided provides providing public pure purely python quantities
    quantity quick quickly raise raised raises raising range ranges reached readable ready
    reasonably recent recommend recommended reduce redundant reference referenced references
    related released relevant rely remove removed removes removing repeatedly replace replaced
    replaces replacing report reported represent representation represented representing
    represents requested require required requirement requirements requires reserved respected
    respects responsible restore restrict restricted restriction retained return returned
    returning returns reuse routine run running runs safe safely satisfied satisfies satisfy
    scalar scalars scikit scipy section select selected selecting sequence sequences set sets
    setting settings setup shape shaped shapes short shortcut shorter shorthand signature
    significantly simplest simplify simultaneously single situation situations size sizes slow
    slower smaller smallest sole solely spec specification specified specifies specify
    specifying standard start started starting starts stat stated store stored stores storing
    str string strings structure style sub subclass subject subsequent subset success successful
    suffices suggest suggested suggestion suitably summary supplied supply support supported
    supporting supports supposed suppress switch task tasks technique term terms times tol total
    trade trailing treating treatment trivial tuple tuples tutorial type typed types unchanged
    undefined underscore unexpected unintuitive unique unlikely unsafe unspecified unsupported
    updated upper usable usage use user users uses utility valid validated value valued values
    variant variants variety vary varying vectorized vendor verify version versions view visible
    warning warnings warranty wise work working works wrap wrapped wrapper wraps wrong xrange
    yield yields zero zeros
    """.split()
)

STOP_WORDS = ENGLISH | BOILERPLATE
