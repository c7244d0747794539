/**
 * The parts that Python packs: their facts, arrays and strings, and the codes in them. Written by
 * `tests/viewer/schema.py` from `isotherm/viewer/format.py`; a test compares the two.
 */

export const MAGIC = "ISO1";
export const ALIGNMENT = 8;
export const STEPS = 65534;
export const SHARE_STEPS = 255;
export const NONE_8 = 255;
export const NONE_16 = 65535;
export const NONE_32 = 4294967295;

/**
 * @typedef {object} Nouns what things are called, each as one and as many
 * @property {string} row
 * @property {string} rows
 * @property {string} column
 * @property {string} columns
 * @property {string} component
 * @property {string} components
 *
 * @typedef {object} MapMeta a map: number of its axes, nodes along each, and documents without a
 *   place
 * @property {string} name
 * @property {number} dimensions
 * @property {number[]|null} grid
 * @property {number} empty
 *
 * @typedef {object} NumberColumn numbers from low to high, in `STEPS` steps
 * @property {string} name
 * @property {"number"} kind
 * @property {number} low
 * @property {number} high
 * @property {number} missing
 *
 * @typedef {object} CategoryColumn categories, most frequent first; a code is the place in this
 *   list
 * @property {string} name
 * @property {"category"} kind
 * @property {string[]} categories
 * @property {number} missing
 *
 * @typedef {object} TopicMeta a final topic: words that tell, frequent ones and those of large
 *   lift, P(k), and so on
 * @property {string} name
 * @property {Words} words
 * @property {Words} frequent
 * @property {Words} lift
 * @property {number} size
 * @property {number|null} reproducibility
 * @property {number|null} coherence
 * @property {Similar} similar
 * @property {number|null} node
 *
 * @typedef {object} TreeMeta a tree: of each node its parent, what is known of it, and the final
 *   topic that it is
 * @property {"topics"|"splits"|"hierarchy"} kind
 * @property {number[]} parents
 * @property {(number|null)[]} temperatures
 * @property {(number|null)[]} similarities
 * @property {string} meaning
 * @property {number[]} splits
 * @property {(number|null)[]} components
 * @property {Words[]} words
 * @property {number[]} sizes
 * @property {(number|null)[]} reproducibility
 *
 * @typedef {object} RecordMeta one temperature of an annealing run
 * @property {number|null} temperature
 * @property {number|null} free_energy
 * @property {number|null} log_likelihood
 * @property {number|null} heldout
 * @property {number} n_effective
 * @property {number} sweeps
 *
 * @typedef {object} CoolingMeta an annealing run, hottest first, and what its effective number
 *   counts
 * @property {string} name
 * @property {string} parts
 * @property {number|null} first_critical
 * @property {number|null} temperature
 * @property {RecordMeta[]} trace
 *
 * @typedef {object} StageTopic a topic on the way, and the final ones that came of it
 * @property {string} name
 * @property {Words} words
 * @property {number} size
 * @property {number[]} finals
 *
 * @typedef {object} StageMeta a stage of the annealing, and the maps whose documents have places
 *   then
 * @property {number} temperature
 * @property {number} n_topics
 * @property {StageTopic[]} topics
 * @property {number[]} moved
 *
 * @typedef {object} EditingMeta what a live page may do to the topics
 * @property {string} token
 * @property {string} state
 * @property {string[]} kinds
 * @property {number[]} pinned
 * @property {string|null} last
 *
 * @typedef {object} PointsHead what is said of a collection before anything is known of its maps
 * @property {string} format
 * @property {number} version
 * @property {string} title
 * @property {string} subtitle
 * @property {boolean} live
 * @property {EditingMeta|null} editing
 * @property {number} n_documents
 * @property {string[]} parts
 * @property {Nouns} nouns
 *
 * @typedef {object} PointsMeta facts of the part `points`: the collection as a whole
 * @property {string} format
 * @property {number} version
 * @property {string} title
 * @property {string} subtitle
 * @property {boolean} live
 * @property {EditingMeta|null} editing
 * @property {number} n_documents
 * @property {string[]} parts
 * @property {Nouns} nouns
 * @property {number} n_topics
 * @property {number} n_words
 * @property {string[][]} facts
 * @property {MapMeta[]} maps
 * @property {Column[]} columns
 * @property {TopicMeta[]} topics
 * @property {TreeMeta|null} tree
 * @property {CoolingMeta[]} coolings
 * @property {StageMeta[]} stages
 *
 * @typedef {object} TextsMeta facts of the part `texts`: whether they are all there, or openings
 * @property {boolean} whole
 *
 * @typedef {object} NoMeta a part without facts of its own
 *
 * @typedef {[string, number|null][]} Words
 *
 * @typedef {[number, number][]} Similar
 *
 * @typedef {NumberColumn|CategoryColumn} Column
 *
 * @typedef {{ // arrays of the part `points`
 *   [name: `map${number}.places`]: Uint16Array, // (I, L) 0..STEPS of its box, or NONE_16
 *   [name: `map${number}.topics`]: Float32Array, // (K, L) 0..1 of its box
 *   [name: `map${number}.nodes`]: Float32Array, // (N, L) 0..1 of its box
 *   [name: `map${number}.magnification`]: Float32Array, // (N) of each node
 *   "topic": Uint8Array|Uint16Array, // (I) strongest topic
 *   [name: `column${number}`]: Uint8Array|Uint16Array, // (I) category or 0..STEPS; largest: none
 * }} PointsArrays
 *
 * @typedef {{ // arrays of the part `documents`
 *   "shares.topic": Uint8Array|Uint16Array, // (I, *) strongest topics
 *   "shares.weight": Uint8Array, // (I, *) their shares, 0..SHARE_STEPS
 *   "typical": Uint32Array, // (K, *) typical documents, or NONE_32
 *   [name: `stage${number}.topic`]: Uint8Array|Uint16Array, // (I) strongest topic then
 *   [name: `stage${number}.map${number}`]: Uint16Array, // (I, L) places then, as in map{m}.places
 * }} DocumentsArrays
 *
 * @typedef {{ // arrays of the part `words`
 *   "totals": Uint32Array, // (J) how often each occurs
 *   "spread.start": Uint32Array, // (J+1) where the entries of each word begin
 *   "spread.topic": Uint8Array|Uint16Array, // (*) a topic of the word
 *   "spread.share": Uint8Array, // (*) P(k|w), 0..SHARE_STEPS
 *   "nodes.start": Uint32Array, // (J+1) the same for nodes of a hierarchy
 *   "nodes.node": Uint8Array|Uint16Array, // (*) a node of the word
 *   "nodes.share": Uint8Array, // (*) P(node|w), 0..SHARE_STEPS
 * }} WordsArrays
 *
 * @typedef {{ // arrays of the part `texts`
 * }} TextsArrays
 *
 * @typedef {{ // arrays of the part `index`
 *   "postings.start": Uint32Array, // (J+1) where the bytes of each word begin
 *   "postings.bytes": Uint8Array, // (*) documents skipped and counts, varints
 *   "lengths": Uint32Array, // (I) words of each document
 * }} IndexArrays
 *
 * @typedef {object} Parts the parts by name
 * @property {import("./decode.js").Part<PointsMeta, PointsArrays>} points
 * @property {import("./decode.js").Part<NoMeta, DocumentsArrays>} documents
 * @property {import("./decode.js").Part<NoMeta, WordsArrays>} words
 * @property {import("./decode.js").Part<TextsMeta, TextsArrays>} texts
 * @property {import("./decode.js").Part<NoMeta, IndexArrays>} index
 */
