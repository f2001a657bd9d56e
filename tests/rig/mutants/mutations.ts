import { childrenOf, isFunction, lineAt, type Node, programOf } from "../../parsed.ts";

/** A text with one mistake in it. */
export interface Mutation {
  readonly line: number;
  /** What stood there, and what stands there now. */
  readonly before: string;
  readonly after: string;
  readonly text: string;
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly after: string;
}

/** Each way to make one mistake in a text, in the order of its nodes. */
export function mutationsOf(text: string): Mutation[] {
  return editsIn(programOf(text), text).map(({ start, end, after }) => ({
    line: lineAt(text, start),
    before: text.slice(start, end),
    after,
    text: text.slice(0, start) + after + text.slice(end),
  }));
}

function editsIn(node: Node, text: string): Edit[] {
  if (isOfTypesOnly(node)) return [];
  return [...editsOf(node, text), ...childrenOf(node).flatMap((child) => editsIn(child, text))];
}

function isOfTypesOnly({ type, declare, importKind, exportKind }: Node): boolean {
  return (
    /^Import|^ExportAll/.test(type) || declare === true || importKind === "type" || exportKind === "type"
  );
}

function editsOf(node: Node, text: string): Edit[] {
  const source = ({ start, end }: Node) => text.slice(start, end);
  switch (node.type) {
    case "IfStatement":
    case "ConditionalExpression":
    case "WhileStatement":
      return [replaced(node.test as Node, `!(${source(node.test as Node)})`)];
    case "BinaryExpression":
    case "LogicalExpression":
      return swapped(node, text);
    case "Literal":
      return literal(node);
    case "ExpressionStatement":
      return node.directive == null ? [replaced(node, ";")] : [];
    case "ArrayExpression":
      return (node.elements as (Node | null)[]).flatMap((each) =>
        each === null ? [] : [replaced(each, "...[]")],
      );
  }
  return isFunction(node) ? returnedEarly(node.body as Node) : [];
}

const SWAPPED: Readonly<Record<string, string>> = {
  "===": "!==",
  "!==": "===",
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "&&": "||",
  "||": "&&",
  "+": "-",
  "-": "+",
};

function swapped(node: Node, text: string): Edit[] {
  const after = SWAPPED[node.operator as string];
  if (after === undefined) return [];
  const [left, right] = [node.left as Node, node.right as Node];
  const start = text.indexOf(node.operator as string, left.end);
  const edit = { start, end: start + (node.operator as string).length, after };
  return start < 0 || start > right.start ? [] : [edit];
}

function literal(node: Node): Edit[] {
  if (typeof node.value === "boolean") return [replaced(node, String(!node.value))];
  if (typeof node.value !== "number") return [];
  return [node.value + 1, node.value - 1].map((other) => replaced(node, `(${other})`));
}

/** Only where there is more than one statement: else it is the statement that is dropped. */
function returnedEarly(body: Node): Edit[] {
  if (body.type !== "BlockStatement" || (body.body as Node[]).length < 2) return [];
  return [{ start: body.start + 1, end: body.start + 1, after: " return undefined as never;" }];
}

function replaced({ start, end }: Node, after: string): Edit {
  return { start, end, after };
}
