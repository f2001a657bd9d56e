import { readFileSync } from "node:fs";
import { join } from "node:path";
import { IntlMessageFormat } from "intl-messageformat";
import { parseSync } from "oxc-parser";
import { pageTexts } from "../../src/transports/texts.ts";

/**
 * The messages of the page, found in its source:
 *
 *     bun tests/page/messages.ts            all of them in the order of the catalogues, each with its files
 *     bun tests/page/messages.ts de         those that the catalogue of a language has not
 */

const PAGE = join(import.meta.dir, "../../src/dashboard");

/** A message in the source. */
export interface Message {
  text: string;
  /** `views/home.tsx:12`. */
  place: string;
  /** The names that it is given; null if they are not written there. */
  given: readonly string[] | null;
  /** Whether tags and elements may be in it. */
  isRich: boolean;
}

/** What the source says in English without `say`, or says in a way that cannot be found. */
export interface Flaw {
  place: string;
  text: string;
}

export interface Found {
  messages: Message[];
  flaws: Flaw[];
}

/** The files of the page that may have texts, and those that it shares with the service. */
export function sources(): string[] {
  const own = [...new Bun.Glob("**/*.{ts,tsx}").scanSync(PAGE)].filter(
    (each) => !/\.d\.ts$|^languages\//.test(each),
  );
  return ["../shared/verdict-texts.ts", ...own.sort()];
}

export function messagesIn(file: string): Found {
  return messagesOf(file, readFileSync(join(PAGE, file), "utf8"));
}

/** A node of the syntax tree, as oxc has it. */
interface Node {
  type: string;
  start: number;
  [field: string]: unknown;
}

/** Attributes and properties that people read, or hear. */
const TEXTS = new Set([
  ...["label", "title", "text", "confirm", "doing", "placeholder", "hint", "submit", "why", "alt", "fault"],
  ...["word", "promise", "detail", "where", "aria-label", "aria-description"],
]);
/** What is no English: names of programs and formats, commands, and what is the same everywhere. */
const NAMES =
  /^(Portcullis|WireGuard|IPv[46]|DNS|DHCP|HTTPS?|MQTT|Home Assistant|PCP|NAT-PMP|UPnP|UTC|TCP|UDP)$/;
const COMMAND = /^(sudo )?(portcullis|rm|dpkg|apt|timedatectl|ssh|wg|ip|nft|systemctl)( |$)/;
/** Attributes that nobody reads. */
const UNREAD =
  /^(class|className|id|d|viewBox|href|rel|type|style|pattern|list|name|key|to|role|autocomplete)$/;

const LETTERS = /\p{L}/u;
const WORDS = /\p{L}{2,} \p{L}{2,}|^\p{Lu}\p{Ll}+…?$/u;
/** The names of keys and of a header's scheme, and the gateway's word for no place. */
const KEYS = /^(Enter|Escape|Bearer|Tab|Infinity|Unknown)$/;

export function messagesOf(file: string, source: string): Found {
  const { program, errors } = parseSync(file, source);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`);
  const found: Found = { messages: [], flaws: [] };
  const placeOf = ({ start }: Node) => `${file}:${source.slice(0, start).split("\n").length}`;
  const flaw = (node: Node, text: string) => found.flaws.push({ place: placeOf(node), text: text.trim() });
  const visit = (node: Node): void => {
    const isType = /^TS|^Import|^ExportAll/.test(node.type) && !/^TS(As|Satisfies|NonNull)/.test(node.type);
    const isComparison = node.type === "BinaryExpression" && /^[!=]/.test(`${node.operator}`);
    if (isType || isComparison) return;
    if (isSay(node)) visitSay(node);
    else if (isSayElement(node)) visitSayElement(node);
    else if (node.type === "JSXElement" && nameOf(node) === "code") visitCode(node);
    else if (node.type === "JSXAttribute") visitAttribute(node);
    else visitOther(node);
  };
  const visitOther = (node: Node) => {
    if (node.type === "JSXText" && isText(`${node.value}`.trim())) flaw(node, `${node.value}`);
    if (node.type === "JSXExpressionContainer") textsIn(node.expression as Node).map(single);
    if (node.type === "Property" && TEXTS.has(keyOf(node))) textsIn(node.value as Node).map(single);
    const text = literalOf(node);
    if (text !== null && isTold(text)) flaw(node, text);
    for (const each of childrenOf(node)) if (node.type !== "Property" || each !== node.key) visit(each);
  };
  /** One word is a text only in certain places. */
  const single = (node: Node) => {
    const text = literalOf(node) ?? "";
    if (isText(text.trim()) && !isTold(text)) flaw(node, text);
  };
  const visitAttribute = (node: Node) => {
    const name = `${(node.name as Node).name}`;
    const value = node.value as Node | null;
    if (value === null) return;
    const given = value.type === "JSXExpressionContainer" ? (value.expression as Node) : value;
    if (UNREAD.test(name)) {
      // Of a component, it may be a text after all.
      if (isSay(given)) visit(given);
      return;
    }
    if (TEXTS.has(name) || name.startsWith("aria-label")) textsIn(given).map(single);
    visit(given);
  };
  /** What is to be typed is the same in each language. */
  const visitCode = (node: Node) => {
    for (const each of node.children as Node[]) if (each.type !== "JSXText") visit(each);
  };
  const visitSay = (node: Node) => {
    const [message, parts] = node.arguments as Node[];
    take(message, parts, false);
    visitParts(parts);
  };
  const visitSayElement = (node: Node) => {
    const attributes = (node.openingElement as Node).attributes as Node[];
    const attributeOf = (name: string) => {
      const value = attributes.find((each) => (each.name as Node | undefined)?.name === name)?.value as
        | Node
        | undefined;
      return value?.type === "JSXExpressionContainer" ? (value.expression as Node) : value;
    };
    const parts = attributeOf("parts");
    take(attributeOf("message"), parts, true);
    visitParts(parts);
  };
  /** The names there are those of the message. */
  const visitParts = (parts: Node | undefined) => {
    const properties = parts?.type === "ObjectExpression" ? (parts.properties as Node[]) : [];
    for (const each of properties) visit((each.value ?? each.argument) as Node);
  };
  const take = (message: Node | undefined, parts: Node | undefined, isRich: boolean) => {
    if (message === undefined) return;
    if (message.type === "ConditionalExpression") {
      visit(message.test as Node);
      take(message.consequent as Node, parts, isRich);
      take(message.alternate as Node, parts, isRich);
      return;
    }
    const text = literalOf(message);
    const isMade = message.type === "TemplateLiteral" && (message.expressions as Node[]).length > 0;
    if (text === null || isMade) flaw(message, "say() takes a text that is written there");
    else found.messages.push({ text, place: placeOf(message), given: namesIn(parts), isRich });
  };
  visit(program as unknown as Node);
  return found;
}

/** Whether it is a text wherever it stands. */
function isTold(text: string): boolean {
  return (
    WORDS.test(text) &&
    !COMMAND.test(text) &&
    !NAMES.test(text) &&
    !KEYS.test(text) &&
    !/ --|^form /.test(text)
  );
}

function isText(text: string): boolean {
  return LETTERS.test(text) && !NAMES.test(text) && !COMMAND.test(text);
}

function isSay(node: Node): boolean {
  return node.type === "CallExpression" && /^say(ing)?$/.test(`${(node.callee as Node).name}`);
}

function isSayElement(node: Node): boolean {
  return node.type === "JSXElement" && nameOf(node) === "Say";
}

function nameOf(node: Node): string {
  return `${((node.openingElement as Node).name as Node).name}`;
}

function keyOf({ key }: Node): string {
  return `${(key as Node).name ?? (key as Node).value}`;
}

/** A string, or a template with its texts between the values. */
function literalOf(node: Node): string | null {
  if (node.type === "Literal" && typeof node.value === "string") return node.value;
  if (node.type !== "TemplateLiteral") return null;
  return (node.quasis as { value: { cooked: string } }[]).map(({ value }) => value.cooked).join("…");
}

/** The texts that an expression may be. */
function textsIn(node: Node): Node[] {
  const parts = (...names: string[]) => names.flatMap((name) => textsIn(node[name] as Node));
  if (literalOf(node) !== null) return [node];
  switch (node.type) {
    case "ConditionalExpression":
      return parts("consequent", "alternate");
    case "LogicalExpression":
      return parts("left", "right");
    case "ParenthesizedExpression":
      return parts("expression");
    case "BinaryExpression":
      return node.operator === "+" ? parts("left", "right") : [];
    default:
      return [];
  }
}

/** The names in `{ a, b: c }`; null of anything else. */
function namesIn(parts: Node | undefined): string[] | null {
  if (parts === undefined) return [];
  if (parts.type !== "ObjectExpression") return null;
  const properties = parts.properties as Node[];
  return properties.some(({ type }) => type !== "Property") ? null : properties.map(keyOf);
}

function childrenOf(node: Node): Node[] {
  return Object.values(node)
    .flat()
    .filter((each): each is Node => typeof (each as Node | null)?.type === "string");
}

type Element = ReturnType<IntlMessageFormat["getAst"]>[number];

/** The types of elements that matter here, as the library numbers them. */
const [LITERAL, SELECT, PLURAL, POUND, TAG] = [0, 5, 6, 7, 8] as const;

/** What a message needs: values, tags, and of each plural its categories. */
export interface Needs {
  names: ReadonlySet<string>;
  tags: ReadonlySet<string>;
  plurals: readonly { name: string; type: "cardinal" | "ordinal"; options: readonly string[] }[];
  /** Its texts alone, in their longest form, for its length. */
  length: number;
  /** "#" inside a select inside a plural stands for nothing. */
  hasLostPound: boolean;
}

export function needsOf(message: string): Needs {
  const names = new Set<string>();
  const tags = new Set<string>();
  const plurals: { name: string; type: "cardinal" | "ordinal"; options: string[] }[] = [];
  let hasLostPound = false;
  const lengthOf = (elements: readonly Element[], isLost: boolean): number =>
    elements.reduce((sum, each) => sum + lengthOfOne(each, isLost), 0);
  const lengthOfOne = (each: Element, isLost: boolean): number => {
    if (each.type === LITERAL) return each.value.length;
    if (each.type === POUND) {
      hasLostPound ||= isLost;
      return 1;
    }
    if (each.type === TAG) {
      tags.add(each.value);
      return lengthOf(each.children, isLost);
    }
    names.add(each.value);
    if (each.type === SELECT || each.type === PLURAL) {
      const isPlural = each.type === PLURAL;
      if (isPlural)
        plurals.push({
          name: each.value,
          type: each.pluralType ?? "cardinal",
          options: Object.keys(each.options),
        });
      return Math.max(...Object.values(each.options).map(({ value }) => lengthOf(value, !isPlural)));
    }
    return 1;
  };
  const length = lengthOf(new IntlMessageFormat(message, "en").getAst(), false);
  return { names, tags, plurals, length, hasLostPound };
}

/** Something to click: what it is called for screen readers, and the text that it shows, which speech control listens for. */
export interface Called {
  place: string;
  label: string;
  text: string;
}

/** What has a label besides its text. Of a choice between two texts, each goes with the label in its place. */
export function calledIn(file: string): Called[] {
  return calledOf(file, readFileSync(join(PAGE, file), "utf8"));
}

export function calledOf(file: string, source: string): Called[] {
  const calledAt = (node: Node): Called[] => {
    const inside = childrenOf(node).flatMap(calledAt);
    if (node.type !== "JSXElement") return inside;
    const attributes = (node.openingElement as Node).attributes as Node[];
    const label = attributes.find(({ name }) =>
      /^(aria-)?label$/.test(`${(name as Node | undefined)?.name}`),
    );
    const labels = saidIn(label?.value as Node | undefined);
    const texts = (node.children as Node[]).flatMap(saidIn);
    const place = `${file}:${source.slice(0, node.start).split("\n").length}`;
    const own = labels.flatMap((each, at) => {
      const text = texts.length === labels.length ? texts[at] : texts[0];
      return text === undefined ? [] : [{ place, label: each, text }];
    });
    return [...own, ...inside];
  };
  return calledAt(parseSync(file, source).program as unknown as Node);
}

/** The messages of `{say(…)}`. */
function saidIn(container: Node | undefined): string[] {
  const said = container?.type === "JSXExpressionContainer" ? (container.expression as Node) : null;
  if (said === null || !isSay(said)) return [];
  return textsIn((said.arguments as Node[])[0] as Node).map((each) => literalOf(each) ?? "");
}

export function allMessages(): Found {
  const all = sources().map(messagesIn);
  return {
    messages: [...all.flatMap(({ messages }) => messages), ...messagesOfRows()],
    flaws: all.flatMap(({ flaws }) => flaws),
  };
}

/** Those that the page takes from the gateway's rows, by `translated()`. */
function messagesOfRows(): Message[] {
  return Object.entries(pageTexts()).flatMap(([name, { title, by }]) =>
    [title, ...(by === null ? [] : [by])].map((text) => ({
      ...{ text, place: `transports/${name}.ts`, given: [], isRich: false },
    })),
  );
}

/** A language's translations by message. */
export function catalogueOf(code: string): Readonly<Record<string, string>> {
  return JSON.parse(readFileSync(join(PAGE, "languages", `${code}.json`), "utf8"));
}

/** A message in a language. */
export const said = (code: string, message: string) =>
  code === "en" ? message : (catalogueOf(code)[message] ?? "");

if (import.meta.main) {
  const [code] = process.argv.slice(2);
  const known = code === undefined ? {} : catalogueOf(code);
  const files = Map.groupBy(allMessages().messages, ({ text }) => text);
  for (const [text, uses] of [...files].toSorted(([one], [other]) => (one < other ? -1 : 1)))
    if (!Object.hasOwn(known, text))
      console.log(`${JSON.stringify(text)}\t${uses.map(({ place }) => place).join(" ")}`);
}
