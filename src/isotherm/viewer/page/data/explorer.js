/**
 * Everything the page knows of the collection. `points` is there from the start; the other parts
 * come when they are decoded, and every helper says what is known so far.
 */

import { NONE_32 } from "./format.js";
import { rounded, sharesOf, spreadOf, valueOf } from "./values.js";

/**
 * @typedef {Partial<import("./format.js").TopicMeta & import("./format.js").StageTopic>} Topic a
 *   final topic, or one of a stage
 */

/** The collection: meta, codes, titles, words; see the helpers. */
export class Explorer {
  /** @param {import("./format.js").Parts["points"]} points */
  constructor(points) {
    this.points = points;
    this.meta = points.meta;
    this.n = this.meta.n_documents;
    this.nouns = this.meta.nouns;
    this.topics = this.meta.topics;
    this.tree = this.meta.tree ?? null;
    this.stages = this.meta.stages ?? [];
    this.lastStage = Math.max(0, this.stages.length - 1);
    /** @type {Partial<import("./format.js").Parts>} */
    this.parts = { points };
    this.whenDocuments = new Promise((resolve) => (this.tellDocuments = resolve));
    this.codes = points.array("topic");
    this.children = childrenOf(this.tree);
    this.wordIds = null;
    this.allTokens = 0;
    this.byTopic = new Map();
    this.firstLabels = this.meta.columns.findIndex((column) => column.kind === "category");
  }

  /**
   * Takes a part that has arrived (null: there is none).
   * @param {string} name
   * @param {object|null} part
   */
  take(name, part) {
    this.parts[name] = part;
    if (name === "words") this.wordIds = null;
    if (name !== "documents") return;
    this.byTopic.clear();
    this.tellDocuments(part);
  }

  /** @returns {object|null} the part `documents`, null until it is here */
  get documents() {
    return this.parts.documents ?? null;
  }

  /** @param {string} name @returns {boolean} whether the file or server has that part */
  has(name) {
    return this.meta.parts.includes(name);
  }

  /**
   * @param {number} i
   * @returns {string} title of a document, or its number until titles are here
   */
  title(i) {
    const strings = this.parts.documents?.strings("titles");
    return (strings && strings.get(i)) || `${this.nouns.row} ${i + 1}`;
  }

  /** @param {number} i @returns {number} strongest topic of the final model, -1 without topics */
  topicOf(i) {
    return this.codes ? this.codes[i] : -1;
  }

  /**
   * @param {number} i
   * @returns {[number, number][]} strongest topics and their shares, at most 3
   */
  topicsOf(i) {
    if (!this.topics.length) return [];
    const shares = sharesOf(this.parts.documents, i);
    return shares.length ? shares : [[this.topicOf(i), NaN]];
  }

  /**
   * Documents whose strongest topic is this one: the typical ones first, then in their own order.
   * @param {number} k topic at that stage
   * @param {number} [stage]
   * @returns {Uint32Array}
   */
  documentsOfTopic(k, stage = this.lastStage) {
    const key = `${stage}/${k}`;
    if (this.byTopic.has(key)) return this.byTopic.get(key);
    const codes = this.codesAt(stage);
    const list = [];
    const seen = new Set();
    const typical = stage >= this.lastStage ? this.parts.documents?.array("typical") : null;
    if (typical) {
      const width = typical.length / Math.max(1, this.topics.length);
      for (let at = k * width; at < (k + 1) * width; at++) {
        const i = typical[at];
        if (i !== NONE_32 && codes[i] === k && !seen.has(i)) {
          seen.add(i);
          list.push(i);
        }
      }
    }
    for (let i = 0; i < this.n; i++) if (codes[i] === k && !seen.has(i)) list.push(i);
    const documents = Uint32Array.from(list);
    if (this.byTopic.size > 50) this.byTopic.clear();
    this.byTopic.set(key, documents);
    return documents;
  }

  /** @param {number} node @returns {Set<number>} final topics at or below a node of the tree */
  topicsBelow(node) {
    const topics = new Set();
    const open = [node];
    while (open.length) {
      const at = open.pop();
      const k = this.tree.components[at];
      if (k !== null && k !== undefined) topics.add(k);
      open.push(...this.children[at]);
    }
    return topics;
  }

  /** @param {number} stage @returns {Topic[]} topics of that stage; the final ones at the last */
  topicsAt(stage) {
    return stage >= this.lastStage ? this.topics : this.stages[stage].topics;
  }

  /**
   * @param {number} stage
   * @returns {Uint8Array|Uint16Array|null} strongest topic of every document then
   */
  codesAt(stage) {
    if (stage >= this.lastStage) return this.codes;
    return this.parts.documents?.array(`stage${stage}.topic`) ?? null;
  }

  /**
   * The topic at one stage that a topic of another stage belongs to, by the final topics they
   * share.
   * @param {number} k
   * @param {number} from
   * @param {number} to
   * @returns {number} -1 where there is none
   */
  carry(k, from, to) {
    if (k < 0 || from === to) return k;
    const final = from >= this.lastStage ? k : (this.stages[from].topics[k]?.finals?.[0] ?? -1);
    if (final < 0 || to >= this.lastStage) return final;
    return this.stages[to].topics.findIndex((topic) => topic.finals.includes(final));
  }

  /** @param {string} word @returns {number} its number, or -1 */
  wordId(word) {
    const strings = this.parts.words?.strings("words");
    if (!strings) return -1;
    if (!this.wordIds) {
      this.wordIds = new Map();
      for (let w = 0; w < strings.length; w++) this.wordIds.set(strings.get(w), w);
    }
    return this.wordIds.get(word) ?? this.wordIds.get(word.toLowerCase()) ?? -1;
  }

  /** @param {string} start @param {number} most @returns {string[]} words that begin so */
  wordsFrom(start, most) {
    this.wordId("");
    const words = [];
    if (start) {
      for (const word of this.wordIds?.keys() ?? []) {
        if (word.startsWith(start) && words.push(word) >= most) break;
      }
    }
    return words;
  }

  /** @param {number} w @returns {string} */
  word(w) {
    return this.parts.words?.strings("words")?.get(w) ?? "";
  }

  /** @param {number} w @returns {number} how often the word stands in the collection */
  total(w) {
    return this.parts.words?.array("totals")?.[w] ?? 0;
  }

  /** @returns {number} tokens of the whole collection */
  get tokens() {
    const totals = this.parts.words?.array("totals");
    return (this.allTokens ||= totals?.reduce((sum, n) => sum + n, 0) ?? 0);
  }

  /** @param {number} w @returns {[number, number][]} topics of a word, P(k|w), largest first */
  spread(w) {
    const words = this.parts.words;
    const [topics, shares] = [words?.array("spread.topic"), words?.array("spread.share")];
    return spreadOf(words?.array("spread.start"), topics, shares, w);
  }

  /**
   * @param {number} w
   * @returns {Map<number, number>} P(node|w): the node's own, or all that is below
   */
  nodeSpread(w) {
    const words = this.parts.words;
    const start = words?.array("nodes.start");
    if (start)
      return new Map(spreadOf(start, words.array("nodes.node"), words.array("nodes.share"), w));
    const below = new Map();
    for (const [k, p] of this.spread(w)) {
      for (let node = this.nodeOf(k); node >= 0; node = this.tree.parents[node]) {
        below.set(node, (below.get(node) ?? 0) + p);
      }
    }
    return below;
  }

  /** @param {number} k @returns {number} the node of the tree that is this topic, or -1 */
  nodeOf(k) {
    return this.tree ? (this.topics[k]?.node ?? this.tree.components.indexOf(k)) : -1;
  }

  /**
   * What a document has in a column, as text ("" where nothing is known).
   * @param {number} c
   * @param {number} i
   * @returns {string}
   */
  value(c, i) {
    const column = this.meta.columns[c];
    const value = valueOf(column, this.points.array(`column${c}`), i);
    if (column.kind === "number" && typeof value === "number") return rounded(column, value);
    return String(value ?? "");
  }
}

function childrenOf(tree) {
  if (!tree) return [];
  const children = tree.parents.map(() => []);
  tree.parents.forEach((parent, node) => {
    if (parent >= 0) children[parent].push(node);
  });
  return children;
}
