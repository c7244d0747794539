/** Reading the blocks of data that Python wrote: gzip of a mark, a header in JSON, arrays. */

import { ALIGNMENT, MAGIC } from "./format.js";

const VIEWS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f4: Float32Array };

/** A table of strings, each decoded when it is asked for: a million titles are never all needed. */
class Strings {
  /**
   * @param {Uint8Array} blob all strings in UTF-8, end to end
   * @param {Uint32Array} ends where each of them ends
   */
  constructor(blob, ends) {
    this.blob = blob;
    this.ends = ends;
    this.length = ends.length;
    this.decoder = new TextDecoder();
  }

  /**
   * @param {number} i
   * @returns {string} the i-th string; "" outside the table
   */
  get(i) {
    if (!(i >= 0 && i < this.length)) return "";
    return this.decoder.decode(this.blob.subarray(i ? this.ends[i - 1] : 0, this.ends[i]));
  }
}

/**
 * What one block contains.
 * @template M its facts
 * @template A its arrays
 */
export class Part {
  /** @param {ArrayBuffer} buffer the block, already inflated */
  constructor(buffer) {
    const view = new DataView(buffer);
    const magic = new TextDecoder().decode(new Uint8Array(buffer, 0, 4));
    if (magic !== MAGIC) throw new Error("This is not data of isotherm: it begins with " + magic);
    const length = view.getUint32(4, true);
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
    const start = Math.ceil((8 + length) / ALIGNMENT) * ALIGNMENT;
    /** @type {M} */
    this.meta = header.meta;
    this.shapes = new Map();
    this.arrays = new Map();
    for (const { name, dtype, shape, offset } of header.arrays) {
      const size = shape.reduce((product, n) => product * n, 1);
      this.shapes.set(name, shape);
      this.arrays.set(name, new VIEWS[dtype](buffer, start + offset, size));
    }
    this.tables = new Map();
    for (const name of header.strings) {
      this.tables.set(name, new Strings(this.arrays.get(name), this.arrays.get(name + ".ends")));
    }
  }

  /**
   * @template {keyof A} N
   * @param {N} name
   * @returns {A[N]|null} flat, the last axis fastest
   */
  array(name) {
    return this.arrays.get(name) ?? null;
  }

  /**
   * @param {string} name
   * @returns {number[]|null}
   */
  shape(name) {
    return this.shapes.get(name) ?? null;
  }

  /**
   * @param {string} name
   * @returns {Strings} empty where there is no such table
   */
  strings(name) {
    return this.tables.get(name) ?? new Strings(new Uint8Array(0), new Uint32Array(0));
  }
}

/**
 * The content of a block.
 * @param {Uint8Array} bytes gzip, as it stands in the file or comes from the server
 * @returns {Promise<Part<any, any>>}
 */
export async function decode(bytes) {
  const stream = new Blob([/** @type {Uint8Array<ArrayBuffer>} */ (bytes)])
    .stream()
    .pipeThrough(new DecompressionStream("gzip"));
  return new Part(await new Response(stream).arrayBuffer());
}

/**
 * Bytes of a text in base64.
 * @param {string} text
 * @returns {Uint8Array}
 */
export function fromBase64(text) {
  const native = /** @type {any} */ (Uint8Array).fromBase64; // new browsers do it by themselves
  if (typeof native === "function") return native.call(Uint8Array, text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}
