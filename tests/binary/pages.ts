import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { BINARY, Client } from "./client.ts";
import { type Block, blocksIn, commandsIn, patternOf, rowsIn, sessionIn } from "./page.ts";

/** Network namespaces, and a connect for each row, on a busy machine. */
export const TIMEOUT_MS = 240_000;
/** The command line uses one address, which may send five connection requests a second; each curl has one of its own. */
const PACE_MS = 250;
const isLimited = (command: string) => /\bportcullis\b/.test(command);
export const ROOT = join(import.meta.dir, "../..");
/** The page's path in the repository, and its text. */
export type Texts = ReadonlyMap<string, string>;

export async function textsOf(pages: readonly string[]): Promise<Texts> {
  const read = async (page: string) => [page, await Bun.file(join(ROOT, page)).text()] as const;
  return new Map(await Promise.all(pages.map(read)));
}

/** What all commands of the interface's pages begin with, as its first page has it. */
export const VARIABLES =
  blocksIn(await Bun.file(join(ROOT, "docs/interface.md")).text()).find(({ text }) => text.startsWith("api="))
    ?.text ?? "";

/** Blocks that this suite and the sandbox's tests run themselves. */
const CARRIED_OUT_ELSEWHERE = /^\.\/scripts\/(start|test|build|prove|judge)\b|^\S*\bbun test\b/;

export let lab: Lab;
export let gateway: Gateway;
/** Where the commands run, with the files that they name. */
export let folder: string;

async function open(): Promise<void> {
  lab = await createLab({ cards: 2, computers: 3 });
  lab.nameComputers();
  gateway = await lab.startGateway({ program: [BINARY], flags: ["--gluetun-routes", "on"] });
  folder = join(lab.sandbox.directory, "docs");
  mkdirSync(folder);
  const { files, servers } = lab.sandbox;
  copyFileSync(files.custom, join(folder, "custom.json"));
  copyFileSync(files.importBody, join(folder, "import.json"));
  const { customBody } = servers[1];
  const settings = { jc: 4, jmin: 40, jmax: 70, s1: 15, s2: 30, h1: "5-10", h2: 11, i1: "<b 0xc0ff><r 16>" };
  const amnezia = { ...customBody, name: "amnezia", ...settings };
  writeFileSync(join(folder, "amnezia.json"), JSON.stringify(amnezia));
  copyFileSync(files.importConf, join(folder, "work.conf"));
  writeFileSync(join(folder, "private.key"), `${servers[0].customBody.private_key}\n`);
  writeFileSync(join(folder, "passphrase"), "a passphrase for the test\n");
}

interface Typed {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs commands as a person does: the next one is typed when the limit of requests has room again. */
export async function paced(command: string): Promise<Typed> {
  const next = isLimited(command) ? Bun.sleep(PACE_MS) : undefined;
  const printed = await typed(command);
  await next;
  return printed;
}

/** Runs a command in a shell in which the lab's gateway replaces the sandbox's. */
export async function typed(script: string): Promise<Typed> {
  const { address } = new Client(gateway.port);
  // Each curl uses an address of its own, so that no rate limit applies.
  writeFileSync(join(folder, ".curlrc"), `interface = ${address}\n`);
  const computers = lab.sandbox.computers.map(
    ({ name, namespace }) => `${name.toLowerCase()}() { CURL_HOME= ip netns exec ${namespace} "$@"; }\n`,
  );
  const phone = `phone() { CURL_HOME= ${lab.sandbox.files.phone} "$@"; }\n`;
  const onGateway = `gateway() { ip netns exec ${lab.sandbox.namespaces.gateway} "$@"; }\n`;
  const around = `sudo() { "$@"; }\nportcullis() { ${BINARY} "$@"; }\n${computers.join("")}${onGateway}${phone}`;
  const child = Bun.spawn(["bash", "-c", around + script.replaceAll(":5000", `:${gateway.port}`)], {
    cwd: folder,
    env: {
      ...process.env,
      CURL_HOME: folder,
      PORTCULLIS_URL: `http://127.0.0.1:${gateway.port}`,
      PORTCULLIS_STATE_DIR: join(lab.sandbox.directory, "state"),
      public_key: lab.sandbox.servers[0].publicKey,
    },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, stdout, stderr };
}

/** Each request has an address of its own, so that no limit is in its way. */
export const ask = (...request: Parameters<Client["ask"]>) => new Client(gateway.port).ask(...request);

/** The state of a new sandbox. */
export async function asAtFirst(): Promise<void> {
  for (const { id } of (await ask("GET", "/api/destinations")).body.destinations)
    await ask("DELETE", `/api/destinations/${id}`);
  await ask("PUT", "/api/dns/lists", { lists: [], exceptions: [] });
  await ask("POST", "/api/provider/managed");
  expect((await ask("POST", "/api/connect", { server: "box-vpn-1" })).status).toBe(200);
}

/** The schedules, the other tunnels, and the devices' names, exits, rates and quotas, are those of a new sandbox too. */
export async function withoutExits(): Promise<void> {
  // At some times of day one is in force, and has set a limit.
  for (const { name } of (await ask("GET", "/api/schedules")).body.schedules)
    await ask("DELETE", `/api/schedules/${name}`);
  for (const { id } of (await ask("GET", "/api/remote")).body.devices)
    await ask("DELETE", `/api/remote/devices/${encodeURIComponent(id)}`);
  expect((await gateway.operate("remote", "off")).code).toBe(0);
  await ask("PUT", "/api/shared-rate", { rate: null });
  await ask("PUT", "/api/shared-quota", { quota: null });
  for (const { id, assigned, quota, rate } of (await ask("GET", "/api/devices")).body.devices) {
    if (quota) await ask("PUT", `/api/devices/${id}`, { quota: null });
    if (rate) await ask("PUT", `/api/devices/${id}`, { rate: null });
    if (assigned) await ask("DELETE", `/api/devices/${id}`);
  }
  for (const { name } of (await ask("GET", "/api/tunnels")).body.tunnels.slice(1))
    await ask("DELETE", `/api/tunnels/${name}`);
  for (const { mac, name } of lab.sandbox.computers) await ask("PUT", `/api/devices/${mac}`, { name });
}

/** The blocks of the pages in this language. */
export function blocks(texts: Texts, language: Block["language"]): { page: string; text: string }[] {
  return [...texts].flatMap(([page, text]) =>
    blocksIn(text)
      .filter((block) => block.language === language)
      .map((block) => ({ page, text: block.text })),
  );
}

/** The rows of these pages that change something: a table is read in any order, so it only asks. */
function changesIn(texts: Texts): string[] {
  const commands = [...texts.values()].flatMap((text) => rowsIn(text).map(({ command }) => command));
  return commands.filter((command) => /^curl .*(?:-X|--data|-d) /.test(command));
}

/** The commands of these pages, in the order of the pages, with one gateway for all. */
export function testPages(texts: Texts): void {
  beforeAll(open, TIMEOUT_MS);
  afterAll(() => lab?.close(), TIMEOUT_MS);

  test("a table of commands changes nothing, so none builds on another", () => {
    expect(changesIn(texts)).toEqual([]);
    const table = "| `curl -X POST $api/disconnect` | `{}` |\n| `curl $api/status` | `{}` |\n";
    expect(changesIn(new Map([["page", table]]))).toEqual(["curl -X POST $api/disconnect"]);
  });

  describe("each command of a table gives the answer beside it", () => {
    test.each([...texts.keys()].filter((page) => rowsIn(texts.get(page) ?? "").length > 0))(
      "%s",
      async (page) => {
        await asAtFirst();
        for (const { command, answer } of rowsIn(texts.get(page) ?? "")) {
          const { stdout } = await typed(`${VARIABLES}\n${command}`);
          expect({ command, stdout }).toEqual({ command, stdout: expect.stringMatching(patternOf(answer)) });
        }
      },
      TIMEOUT_MS,
    );
  });

  describe("each command in a block succeeds", () => {
    test.each(blocks(texts, "sh").map(({ page, text }) => [page, commandsIn(text)] as const))(
      "%s: %p",
      async (_, commands) => {
        await asAtFirst();
        for (const command of commands) {
          if (CARRIED_OUT_ELSEWHERE.test(command)) continue;
          const { code, stdout, stderr } = await paced(command);
          expect({ command, code, stdout, stderr }).toEqual({ command, code: 0, stdout, stderr });
        }
      },
      TIMEOUT_MS,
    );
  });

  describe("each command of a page's session, which may have several blocks, prints what is below it", () => {
    const pages = [...Map.groupBy(blocks(texts, "shell-session"), ({ page }) => page)];
    test.each(pages.map(([page, parts]) => [page, parts.flatMap(({ text }) => sessionIn(text))] as const))(
      "%s: %p",
      async (_, session) => {
        await withoutExits();
        await asAtFirst();
        await gateway.hearsHome();
        const printed: string[] = [];
        for (const { command } of session) {
          // As at a terminal, where curl shows no progress.
          const { stdout, stderr } = await paced(`${VARIABLES}\n${command.replace(/\bcurl /, "curl -sS ")}`);
          const output = stdout + stderr;
          printed.push(output === "" || output.endsWith("\n") ? output : `${output}\n`);
        }
        expect(printed).toEqual(
          session.map(({ answer }) => expect.stringMatching(patternOf(answer)) as unknown as string),
        );
      },
      TIMEOUT_MS,
    );
  });

  const elsewhere = blocks(texts, "console")
    .flatMap(({ text }) => text.split("\n"))
    .map((line) => /^\$ (?:sudo )?(?:\.\/)?portcullis ([^#]*)/.exec(line)?.[1]?.trim() ?? "")
    .filter((words) => words !== "");
  test.each([...new Set(elsewhere)])(
    "the command for another machine exists: %s",
    async (words) => {
      const { code, stderr } = await typed(`portcullis ${words} --help`);
      expect({ words, code, stderr }).toEqual({ words, code: 0, stderr: "" });
    },
    TIMEOUT_MS,
  );
}
