import { parseSync } from "oxc-parser";

// A file's syntax: what the architecture test asks of it, and where a mutant may have a mistake.

export interface Node {
  type: string;
  start: number;
  end: number;
  [field: string]: unknown;
}

/** The functions of a text that have more lines than this, by the line where each begins. */
export function longFunctions(text: string, max: number): string[] {
  return nodesIn(programOf(text))
    .filter(isFunction)
    .map(({ start, end }) => ({
      at: lineAt(text, start),
      lines: lineAt(text, end) - lineAt(text, start) + 1,
    }))
    .filter(({ lines }) => lines > max)
    .map(({ at, lines }) => `line ${at}: ${lines} lines`);
}

/** Names that a function uses before the line that makes them, also within a closure: until then, a call of it fails. */
export function lateReferences(text: string): string[] {
  return nodesIn(programOf(text))
    .filter(isFunction)
    .flatMap((each) => lateIn(each))
    .map(({ name, start }) => `line ${lineAt(text, start)}: ${name}`);
}

/** Fields of others that are assigned: what made them has left them unfinished. A class may assign its own. */
export function foreignAssignments(text: string): string[] {
  return nodesIn(programOf(text))
    .filter(({ type }) => type === "AssignmentExpression")
    .map(({ left }) => left as Node & { object?: Node })
    .filter(({ type, object }) => type === "MemberExpression" && object?.type !== "ThisExpression")
    .map(({ start, end }) => `line ${lineAt(text, start)}: ${text.slice(start, end)}`);
}

interface Reference {
  name: string;
  start: number;
}

function lateIn(outer: Node): Reference[] {
  const madeAt = new Map(declaredIn(outer).map(({ name, start }) => [name, start]));
  return referencesIn(outer.body as Node, new Set()).filter(
    ({ name, start }) => start < (madeAt.get(name) ?? Number.NEGATIVE_INFINITY),
  );
}

/** The constants and variables of a function, without those of functions in it. */
function declaredIn(outer: Node): Reference[] {
  return nodesIn(outer.body as Node, (node) => !isFunction(node))
    .filter(({ type }) => type === "VariableDeclarator")
    .flatMap(({ id, start }) => namesIn(id as Node).map((name) => ({ name, start })));
}

/** What is used, apart from what a closure has itself under the same name. */
function referencesIn(node: Node, hidden: ReadonlySet<string>): Reference[] {
  if (node.type === "Identifier") {
    const name = node.name as string;
    return hidden.has(name) ? [] : [{ name, start: node.start }];
  }
  if (!isFunction(node)) return childrenOf(node).flatMap((child) => referencesIn(child, hidden));
  const own = [...(node.params as Node[]).flatMap(namesIn), ...declaredIn(node).map(({ name }) => name)];
  const inside = new Set([...hidden, ...own]);
  return childrenOf(node).flatMap((child) => referencesIn(child, inside));
}

/** The names that a pattern binds. */
function namesIn(pattern: Node): string[] {
  return nodesIn(pattern)
    .filter(({ type }) => type === "Identifier")
    .map(({ name }) => name as string);
}

function nodesIn(node: Node, isEntered: (node: Node) => boolean = () => true): Node[] {
  const inner = childrenOf(node).flatMap((child) => (isEntered(child) ? nodesIn(child, isEntered) : [child]));
  return [node, ...inner];
}

/** Expressions that only tell the compiler a type. */
const TYPED = new Set(["TSAsExpression", "TSNonNullExpression", "TSSatisfiesExpression"]);

/** Without names of fields, which are no references, and without types. */
export function childrenOf(node: Node): Node[] {
  const isField = (field: string) =>
    (field === "key" || field === "property") && node.computed === false && node.shorthand !== true;
  return Object.entries(node)
    .filter(([field]) => !isField(field))
    .flatMap(([, value]) => value)
    .filter((value): value is Node => typeof (value as Node | null)?.type === "string")
    .filter(({ type }) => !type.startsWith("TS") || TYPED.has(type));
}

export function isFunction({ type, body }: Node): boolean {
  return /^(Function|ArrowFunction)/.test(type) && body != null;
}

export function programOf(text: string): Node {
  return parseSync("text.ts", text).program as unknown as Node;
}

export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}
