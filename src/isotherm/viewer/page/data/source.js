/** Where data come from: blocks inside the file, or the server that sent the page. */

import { decode, fromBase64 } from "./decode.js";
import { createLocalSearch } from "./localsearch.js";
import { sharesOf, valueOf } from "./values.js";

/**
 * @typedef {object} SearchResult
 * @property {string[]} known words of the query that the corpus has
 * @property {string[]} unknown words of the query that it has not
 * @property {string[]} [stopped] stop words of the query, which were not counted
 * @property {{document: number, score: number, words: [string, number][],
 *   topics: [number, number][], through_topics: number}[]} hits best first
 * @property {[number, number][]} topics of the query
 *
 * @typedef {object} DocumentText
 * @property {number} index
 * @property {string|null} id
 * @property {string} title
 * @property {string|null} text
 * @property {boolean} whole whether the text is all of it
 * @property {Record<string, string|number|null>} fields values of the columns
 * @property {[number, number][]} topics strongest first
 */

/**
 * @typedef {object} Change an edit of topics, by their numbers
 * @property {string} kind "rename", "merge", "split", "drop", "pin" or "undo"
 * @property {number[]} topics
 * @property {string} [name] new name of a topic that is renamed
 * @property {number} [into] number of parts of a topic that is split
 * @property {string} [state] the topics that the numbers are of
 */

/**
 * @typedef {import("./format.js").Parts} Parts
 *
 * @typedef {object} Source
 * @property {boolean} live
 * @property {<N extends keyof Parts>(name: N) => Promise<Parts[N]|null>} part null where there is none
 * @property {(query: string, n?: number) => Promise<SearchResult|null>} search
 * @property {(i: number) => Promise<DocumentText>} document
 * @property {(change: Change, token: string) => Promise<object>} [edit] where topics can be edited
 */

/**
 * The source of this page: the file it stands in, or its server.
 * @returns {Source}
 */
export function openSource() {
  return dataElement("points") ? fileSource() : liveSource();
}

/** @param {(name: string) => Promise<any>} load */
function remembering(load) {
  const promises = new Map();
  return (name) => {
    if (!promises.has(name)) promises.set(name, load(name));
    return promises.get(name);
  };
}

// In the file ------------------------------------------------------------------------------------

function dataElement(name) {
  return document.querySelector(`script[data-part="${name}"]`);
}

/** Resolves when the file has been read to its end: until then a block may be half there. */
function parsed() {
  if (document.readyState !== "loading") return Promise.resolve();
  return new Promise((resolve) =>
    document.addEventListener("DOMContentLoaded", resolve, { once: true }),
  );
}

function fileSource() {
  const part = remembering(async (name) => {
    if (name !== "points") await parsed(); // points stand before the script
    const element = dataElement(name);
    return element ? decode(fromBase64(element.textContent)) : null;
  });
  let searching = null;
  return {
    live: false,
    part,
    async search(query, n = 50) {
      searching ??= Promise.all(["words", "index", "documents", "points"].map(part)).then(
        ([words, index, documents, points]) =>
          words && index ? createLocalSearch(words, index, documents, points) : null,
      );
      const search = await searching;
      return search ? search(query, n) : null;
    },
    async document(i) {
      const [points, documents, texts] = await Promise.all(
        ["points", "documents", "texts"].map(part),
      );
      return {
        index: i,
        id: null,
        title: documents ? documents.strings("titles").get(i) : "",
        text: texts ? texts.strings("texts").get(i) : null,
        whole: texts ? texts.meta.whole : false,
        fields: Object.fromEntries(
          points.meta.columns.map((column, c) => [
            column.name,
            valueOf(column, points.array(`column${c}`), i),
          ]),
        ),
        topics: sharesOf(documents, i),
      };
    },
  };
}

// From the server --------------------------------------------------------------------------------

function liveSource() {
  const part = remembering(async (name) => {
    if (name === "texts" || name === "index") return null; // the server has them
    const answer = await fetch(`data/${name}.bin`);
    if (answer.status === 404) return null;
    if (!answer.ok) throw new Error(`The server answered ${answer.status} for ${name}.`);
    return decode(new Uint8Array(await answer.arrayBuffer()));
  });
  return {
    live: true,
    part,
    search: (query, n = 50) =>
      asked("api/search", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ query, n }),
      }),
    document: async (i) => ({ whole: true, ...(await asked(`api/documents/${i}`)) }),
    edit: (change, token) =>
      asked("api/edit", {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-Isotherm-Token": token },
        body: JSON.stringify(change),
      }),
  };
}

async function asked(path, options) {
  const answer = await fetch(path, options);
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(body.error ?? `The server answered ${answer.status}.`);
  return body;
}
