import { Database } from "bun:sqlite";
import { beforeAll, expect, setDefaultTimeout } from "bun:test";
import { join } from "node:path";
import { contentsOf } from "../../src/backup/contents.ts";
import { plain } from "../../src/backup/envelope.ts";
import { slow } from "../fast.ts";
import { expectGolden, withoutRepetitions } from "./golden.ts";
import { PlayedHome, QUESTIONS } from "./played-home.ts";

const { test } = slow;

// What clients, scripts, brokers and former versions rely on, of one home in which everything is used once. A change that
// is not meant to be seen moves no file here.

setDefaultTimeout(240_000);

const FILES = {
  "steps.txt": ({ steps }: PlayedHome) => `${steps.join("\n")}\n`,
  "answers.txt": answersOf,
  "openapi.txt": async (home: PlayedHome) => withoutRepetitions((await home.ask("/swagger/json")).json),
  "metrics.txt": async (home: PlayedHome) => (await home.ask("/metrics")).text,
  "events.txt": ({ events }: PlayedHome) => `${events.messages.join("\n")}\n`,
  "mqtt.txt": topicsOf,
  "ruleset.nft": ({ home }: PlayedHome) => home.host.table ?? "",
  "rules.txt": ({ home }: PlayedHome) => `${Object.values(home.host.rules).flat().join("\n")}\n`,
  "backup.txt": backupOf,
  "portcullis.db.txt": (home: PlayedHome) => rowsOf(home, "portcullis.db"),
  "exits.db.txt": (home: PlayedHome) => rowsOf(home, "exits.db"),
};

const texts = new Map<string, string>();
let paths: Record<string, object> = {};
beforeAll(async () => {
  const played = await PlayedHome.play();
  for (const [name, textOf] of Object.entries(FILES)) texts.set(name, await textOf(played));
  paths = (await played.ask("/swagger/json")).json.paths;
  await played.end();
});

test.each(Object.keys(FILES))("%s is as before", (name) =>
  expectGolden(join(import.meta.dir, name), texts.get(name) ?? ""),
);

test("every GET of the interface is asked", () => {
  const asked = QUESTIONS.map((path) => path.replace(/\?.*/, ""));
  const isAsked = (path: string) =>
    asked.some((each) => new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(each));
  const gets = Object.entries(paths).flatMap(([path, each]) => ("get" in each ? path : []));
  const left = gets.filter((path) => path.startsWith("/api/") && !isAsked(path));
  // New at each call.
  expect(left).toEqual(["/api/keypair"]);
});

async function answersOf(home: PlayedHome): Promise<string> {
  const answers: string[] = [];
  for (const path of QUESTIONS) {
    const { status, text, json } = await home.ask(path);
    answers.push(`GET ${path}\n${status} ${json === undefined ? text : pretty(json)}\n`);
  }
  return answers.join("\n");
}

function topicsOf({ broker }: PlayedHome): string {
  const topics = [...broker.retained].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const shown = (text: string) => (text.startsWith("{") ? pretty(JSON.parse(text)) : text);
  return topics.map(([topic, text]) => `${topic}\n${shown(text)}\n`).join("\n");
}

function backupOf({ home: { parts, host } }: PlayedHome): string {
  return `${pretty(JSON.parse(plain(contentsOf(parts.store, host.now()))).contents)}\n`;
}

async function rowsOf({ home: { parts, directory } }: PlayedHome, name: string): Promise<string> {
  await parts.store.flushed();
  const db = new Database(join(directory, name), { readonly: true });
  try {
    const named = db.query<{ name: string; sql: string }, []>(
      "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name",
    );
    const rows = (table: string) => db.query(`SELECT * FROM "${table}"`).all();
    const dumps = named.all().map(({ name: table, sql }) => {
      const lines = sql.startsWith("CREATE TABLE") ? rows(table).map((row) => JSON.stringify(row)) : [];
      return [sql, ...lines, ""].join("\n");
    });
    return dumps.join("\n");
  } finally {
    db.close();
  }
}

function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
