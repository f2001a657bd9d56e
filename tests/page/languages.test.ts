import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { LANGUAGES } from "../../src/dashboard/languages/all.ts";
import { keyOf, pack, unpack } from "../../src/shared/message-key.ts";
import {
  allMessages,
  type Called,
  calledIn,
  calledOf,
  catalogueOf,
  messagesIn,
  messagesOf,
  needsOf,
  sources,
} from "./messages.ts";

const FOLDER = join(import.meta.dir, "../../src/dashboard/languages");
const CODES = readdirSync(FOLDER).flatMap((name) => (name.endsWith(".json") ? [name.slice(0, -5)] : []));

/** The longest label, and how much longer a translation may be, in letters. */
const LABEL = 24;
const longest = (length: number) => 2.2 * length + 8;

/**
 * Words that a language of the page does not use, each with the one that it uses: one thing has one name, and it is the
 * name that people know from their router.
 */
const FOREIGN: Record<string, Record<string, string>> = {
  de: {
    Netzwerkanschluss: "Verbindung zum Router",
    gesperrt: "blockiert",
    Laufzeit: "Latenz",
    Umlaufzeit: "Latenz",
    verlustreich: "verliert Pakete",
    Portweiterleitung: "Portfreigabe",
  },
  es: {
    rutas: "enrutamiento",
    enrutador: "router",
    "ida y vuelta": "latencia",
    "apretón de manos": "negociación",
    cupo: "cuota",
    "interruptor de corte": "kill switch",
  },
  fr: {
    "aller-retour": "latence",
    "poignée de main": "négociation",
    muet: "ne répond plus",
    obfuscation: "dissimulation",
    "redirection de port": "port redirigé",
  },
  // Of Portugal, where the page speaks to Brazil.
  pt: {
    ficheiro: "arquivo",
    utilizador: "usuário",
    "palavra-passe": "senha",
    telemóvel: "celular",
    ecrã: "tela",
    definições: "configurações",
    ligação: "conexão",
    registo: "registro",
  },
  ru: { файрвол: "брандмауэр", "межсетевой экран": "брандмауэр", маршрутизатор: "роутер", пинг: "задержка" },
  zh: { 断网开关: "终止开关", 防火牆: "防火墙", 往返: "延迟", 时延: "延迟", 被封锁: "已阻止" },
};

const { messages } = allMessages();

test("a catalogue as it is sent has each translation, by a key that no other message has", () => {
  for (const code of CODES) {
    const catalogue = catalogueOf(code);
    const sent = unpack(pack(catalogue));
    expect(sent.size).toBe(Object.keys(catalogue).length);
    for (const [message, text] of Object.entries(catalogue)) expect(sent.get(keyOf(message))).toBe(text);
  }
  expect(() => pack({ "message 992": "one", "message 8230": "two" })).toThrow(
    "two messages have the same key",
  );
});

test("each text of the page is a message that can be translated", () => {
  expect(sources().flatMap((file) => messagesIn(file).flaws)).toEqual([]);
});

test("a text that is no message is found", () => {
  const source = `
    const A = { title: "title", name: "name", key: say("Good"), facts: ["Port", port === "Other"] };
    const b = () => { throw new Error("It has failed."); };
    const C = () => (
      <p class="quiet small" aria-label="Label" title={isOpen ? "Less" : say("More")}>
        Text <code>sudo portcullis check</code> {isOn && "on"} {\`\${n} device\`} {say(text)} {say(\`a \${b}\`)}
        <Say message="Fine {inner}" parts={{ inner: <b>Inner</b> }} /> <Copy name={say("the text")} />
      </p>
    );`;
  const { messages, flaws } = messagesOf("c.tsx", source);
  expect(flaws.map(({ text }) => text)).toEqual([
    ...["title", "Port", "It has failed.", "Label", "Less", "Text", "on", "… device"],
    ...["say() takes a text that is written there", "say() takes a text that is written there", "Inner"],
  ]);
  expect(messages.map(({ text, given, isRich }) => [text, given, isRich])).toEqual([
    ["Good", [], false],
    ["More", [], false],
    ["Fine {inner}", ["inner"], true],
    ["the text", [], false],
  ]);
});

test("each message is given what it names, and nothing else", () => {
  const faults = messages.flatMap(({ text, place, given, isRich }) => {
    const { names, tags } = needsOf(text);
    const own = [...names, ...[...tags].filter((tag) => !["strong", "em", "code"].includes(tag))];
    if (tags.size > 0 && !isRich) return [`${place}: tags need <Say>`];
    return given === null || Bun.deepEquals(own.toSorted(), given.toSorted())
      ? []
      : [`${place}: ${text}: ${given}`];
  });
  expect(faults).toEqual([]);
});

const called = sources().flatMap(calledIn);

/** Labels without the text that is shown: who says that text to the computer clicks nothing (WCAG 2.5.3). */
const unheard = (all: readonly Called[], said: (message: string) => string | undefined) =>
  all.flatMap(({ place, ...is }) => {
    const [label = "", text = ""] = [said(is.label), said(is.text)];
    const heard = text.replace(/\s?…$/, "").toLowerCase();
    return label.toLowerCase().includes(heard) ? [] : [`${place}: ${label}: ${text}`];
  });

test("what a button is called has the text that it shows", () => {
  expect(called.length).toBeGreaterThan(20);
  expect(unheard(called, (message) => message)).toEqual([]);
});

test("a button that is called otherwise than it shows is found", () => {
  const source = `const A = () => (
    <Button label={say(on ? "Turn off {list}" : "Start {list}", { list })} kind="plain">
      {say(on ? "Turn off" : "Turn on")}
    </Button>
  );`;
  expect(unheard(calledOf("a.tsx", source), (message) => message)).toEqual([
    "a.tsx:2: Start {list}: Turn on",
  ]);
});

test("the catalogues are those of the languages that are offered", () => {
  expect(LANGUAGES.map(({ code }) => code)).toEqual(["en", ...CODES.toSorted()] as never);
});

for (const code of CODES) {
  const catalogue = catalogueOf(code);
  const known = new Set(messages.map(({ text }) => text));

  test(`${code}: no message is missing, and none is left over`, () => {
    expect([...known].filter((text) => !Object.hasOwn(catalogue, text))).toEqual([]);
    expect(Object.keys(catalogue).filter((text) => !known.has(text))).toEqual([]);
  });

  test(`${code}: what a button is called has the text that it shows`, () => {
    expect(unheard(called, (message) => catalogue[message])).toEqual([]);
  });

  test(`${code}: the messages are in order, so that whoever adds one finds its place`, () => {
    expect(Object.keys(catalogue)).toEqual(Object.keys(catalogue).toSorted());
  });

  test(`${code}: a thing has one name, the one in the glossary`, () => {
    const foreign = Object.entries(FOREIGN[code] ?? {});
    expect(foreign).not.toEqual([]);
    const found = Object.values(catalogue).flatMap((text) =>
      foreign.flatMap(([word, instead]) =>
        text.toLowerCase().includes(word.toLowerCase()) ? [`${text}: ${instead} in place of ${word}`] : [],
      ),
    );
    expect(found).toEqual([]);
  });

  test(`${code}: translations have the parts, tags and plurals that they need, and labels are short`, () => {
    expect(
      Object.entries(catalogue).flatMap(([text, translated]) => faultsOf(text, translated, code)),
    ).toEqual([]);
  });
}

function faultsOf(text: string, translated: string, code: string): string[] {
  const [one, two] = [needsOf(text), needsOf(translated)];
  const isSame = (a: ReadonlySet<string>, b: ReadonlySet<string>) => a.symmetricDifference(b).size === 0;
  const lacking = two.plurals.flatMap(({ type, options }) =>
    new Intl.PluralRules(code, { type })
      .resolvedOptions()
      .pluralCategories.filter((each) => !options.includes(each)),
  );
  const faults = [
    !isSame(one.names, two.names) && `has the parts ${[...two.names]}`,
    !isSame(one.tags, two.tags) && `has the tags ${[...two.tags]}`,
    lacking.length > 0 && `has no ${lacking}`,
    two.hasLostPound && "has # in a select",
    one.length <= LABEL && two.length > longest(one.length) && `has ${two.length} letters`,
    translated.trim() === "" && "is empty",
  ];
  return faults.flatMap((fault) => (fault === false ? [] : [`${text}: ${translated} ${fault}`]));
}

test("what is wrong with a translation is found", () => {
  const plural = "{count, plural, one {# device} other {# devices}}";
  expect(faultsOf("Close {title}?", "{titel} schließen?", "de")).toHaveLength(1);
  expect(faultsOf(plural, "{count, plural, one {# устройство} other {# устройств}}", "ru")).toEqual([
    expect.stringContaining("has no few,many"),
  ]);
  expect(faultsOf("<strong>On</strong>", "<b>An</b>", "de")).toHaveLength(1);
  expect(faultsOf("Add", "Hinzufügen und übernehmen", "de")).toHaveLength(1);
  expect(faultsOf("Add", "Hinzufügen", "de")).toEqual([]);
  expect(faultsOf(plural, "{count, plural, one {# Gerät} other {# Geräte}}", "de")).toEqual([]);
});
