/** Which nodes of a tree are seen. */

const OPEN_AT_FIRST = 60; // nodes that may stand there unfolded from the start

/**
 * Nodes that are unfolded from the start: from the top down, as long as the list stays short.
 * @param {import("../data/explorer.js").Explorer} data
 * @param {number[]} roots
 * @returns {Set<number>}
 */
export function firstOpen(data, roots) {
  const open = new Set();
  let level = roots;
  let shown = roots.length;
  while (level.length) {
    const next = level.flatMap((node) => data.children[node]);
    if (!next.length || (shown + next.length > OPEN_AT_FIRST && open.size)) break;
    level.forEach((node) => data.children[node].length && open.add(node));
    shown += next.length;
    level = next;
  }
  return open;
}

/**
 * Nodes that are seen, in the order of the tree, with their levels from 1.
 * @param {import("../data/explorer.js").Explorer} data
 * @param {number[]} roots
 * @param {Set<number>} open nodes whose children are seen
 * @returns {[number, number][]}
 */
export function visibleNodes(data, roots, open) {
  const nodes = [];
  const stack = roots.map((node) => [node, 1]).reverse();
  while (stack.length) {
    const [node, level] = stack.pop();
    nodes.push([node, level]);
    if (!open.has(node)) continue;
    for (const child of [...data.children[node]].reverse()) stack.push([child, level + 1]);
  }
  return nodes;
}
