import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createLab, type Gateway, type Lab } from "../../lab/lab.ts";
import { until } from "../../lab/until.ts";
import { LAN } from "../../src/sandbox/topology.ts";
import { BINARY, Client } from "./client.ts";
import { type Block, blocksIn, commandsIn, patternOf, rowsIn, sessionIn } from "./page.ts";

/** Network namespaces, and a connect for each row, on a busy machine. */
const TIMEOUT_MS = 240_000;
/** The command line uses one address, which may send five connection requests a second. */
const PACE_MS = 250;
const ROOT = join(import.meta.dir, "../..");
const PAGES = ["README.md", ...new Bun.Glob("docs/*.md").scanSync(ROOT), "CONTRIBUTING.md"].toSorted();
const texts = new Map(
  await Promise.all(PAGES.map(async (page) => [page, await Bun.file(join(ROOT, page)).text()] as const)),
);
/** Blocks that this suite and the sandbox's tests run themselves. */
const CARRIED_OUT_ELSEWHERE = /^\.\/scripts\/(start|test|build)\b|^\S*\bbun test\b/;

let lab: Lab;
let gateway: Gateway;
let folder: string;

beforeAll(async () => {
  lab = await createLab({ cards: 2, computers: 3 });
  lab.nameComputers();
  gateway = await lab.startGateway({ program: [BINARY], flags: ["--gluetun-routes", "on"] });
  folder = join(lab.sandbox.directory, "docs");
  mkdirSync(folder);
  const { files, servers } = lab.sandbox;
  copyFileSync(files.custom, join(folder, "custom.json"));
  copyFileSync(files.importBody, join(folder, "import.json"));
  copyFileSync(files.importConf, join(folder, "work.conf"));
  writeFileSync(join(folder, "private.key"), `${servers[0].customBody.private_key}\n`);
  writeFileSync(join(folder, "passphrase"), "a passphrase for the test\n");
}, TIMEOUT_MS);
afterAll(() => lab?.close(), TIMEOUT_MS);

interface Typed {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs a command in a shell in which the lab's gateway replaces the sandbox's. */
async function typed(script: string): Promise<Typed> {
  const { address } = new Client(gateway.port);
  // Each curl uses an address of its own, so that no rate limit applies.
  writeFileSync(join(folder, ".curlrc"), `interface = ${address}\n`);
  const computers = lab.sandbox.computers.map(
    ({ name, namespace }) => `${name.toLowerCase()}() { CURL_HOME= ip netns exec ${namespace} "$@"; }\n`,
  );
  const phone = `phone() { CURL_HOME= ${lab.sandbox.files.phone} "$@"; }\n`;
  const around = `sudo() { "$@"; }\nportcullis() { ${BINARY} "$@"; }\n${computers.join("")}${phone}`;
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

/** The state of a new sandbox. */
async function asAtFirst(): Promise<void> {
  const client = new Client(gateway.port);
  for (const { id } of (await gateway.api("GET", "/api/destinations")).body.destinations)
    await gateway.api("DELETE", `/api/destinations/${id}`);
  await gateway.api("PUT", "/api/dns/lists", { lists: [], exceptions: [] });
  await client.ask("POST", "/api/provider/managed");
  expect((await client.ask("POST", "/api/connect", { server: "box-vpn-1" })).status).toBe(200);
}

/** The other tunnels, and the devices' names and exits, are those of a new sandbox too. */
async function withoutExits(): Promise<void> {
  for (const { id } of (await gateway.api("GET", "/api/remote")).body.devices)
    await gateway.api("DELETE", `/api/remote/devices/${encodeURIComponent(id)}`);
  expect((await gateway.operate("remote", "off")).code).toBe(0);
  for (const { id, assigned } of (await gateway.api("GET", "/api/devices")).body.devices)
    if (assigned) await gateway.api("DELETE", `/api/devices/${id}`);
  for (const { name } of (await gateway.api("GET", "/api/tunnels")).body.tunnels.slice(1))
    await gateway.api("DELETE", `/api/tunnels/${name}`);
}

/** The computers have spoken lately: the kernel forgets the addresses of those that were quiet for a while. */
async function heard(): Promise<void> {
  for (const { namespace } of lab.sandbox.computers)
    await lab.exec(namespace, ["ping", "-c", "1", "-W", "10", LAN.gateway4]);
  await until(async () => {
    const { devices } = (await gateway.api("GET", "/api/devices")).body;
    return devices.every(({ addresses }: { addresses: string[] }) => addresses.length > 0);
  });
}

function blocks(language: Block["language"]): { page: string; text: string }[] {
  return [...texts].flatMap(([page, text]) =>
    blocksIn(text)
      .filter((block) => block.language === language)
      .map((block) => ({ page, text: block.text })),
  );
}

test("the pages have commands", () => {
  expect(blocks("sh").length).toBeGreaterThanOrEqual(7);
  expect(blocks("shell-session").flatMap(({ text }) => sessionIn(text)).length).toBeGreaterThanOrEqual(8);
  expect(rowsIn(texts.get("docs/interface.md") ?? "").length).toBeGreaterThanOrEqual(13);
});

describe("the commands of a table, one after the other, give the answers beside them", () => {
  test.each(PAGES.filter((page) => rowsIn(texts.get(page) ?? "").length > 0))(
    "%s",
    async (page) => {
      const text = texts.get(page) ?? "";
      const variables = blocksIn(text).find((block) => block.text.startsWith("api="))?.text ?? "";
      await asAtFirst();
      for (const { command, answer } of rowsIn(text)) {
        const { stdout } = await typed(`${variables}\n${command}`);
        expect({ command, stdout }).toEqual({ command, stdout: expect.stringMatching(patternOf(answer)) });
      }
    },
    TIMEOUT_MS,
  );
});

describe("each command in a block succeeds", () => {
  test.each(blocks("sh").map(({ page, text }) => [page, commandsIn(text)] as const))(
    "%s: %p",
    async (_, commands) => {
      await asAtFirst();
      for (const command of commands) {
        if (CARRIED_OUT_ELSEWHERE.test(command)) continue;
        const next = Bun.sleep(PACE_MS);
        const { code, stdout, stderr } = await typed(command);
        expect({ command, code, stdout, stderr }).toEqual({ command, code: 0, stdout, stderr });
        await next;
      }
    },
    TIMEOUT_MS,
  );
});

describe("each command of a page's session, which may have several blocks, prints what is below it", () => {
  const pages = [...Map.groupBy(blocks("shell-session"), ({ page }) => page)];
  test.each(pages.map(([page, parts]) => [page, parts.flatMap(({ text }) => sessionIn(text))] as const))(
    "%s: %p",
    async (_, session) => {
      await withoutExits();
      await asAtFirst();
      await heard();
      const printed: string[] = [];
      for (const { command } of session) {
        const next = Bun.sleep(PACE_MS);
        // As at a terminal, where curl shows no progress.
        const { stdout, stderr } = await typed(command.replace(" curl ", " curl -sS "));
        printed.push(stdout + stderr);
        await next;
      }
      expect(printed).toEqual(
        session.map(({ answer }) => expect.stringMatching(patternOf(answer)) as unknown as string),
      );
      await withoutExits();
    },
    TIMEOUT_MS,
  );
});

/** A rule's id, as pages have it. */
const RULE = "3f9a1c";
/** What people have in place of the lab's things. */
const IN_LAB = ["connect Amsterdam", "connect box-vpn-2"] as const;

test(
  "the recipes of destinations are carried out as they stand, with a server of the lab's, and explain themselves",
  async () => {
    copyFileSync(lab.sandbox.files.importConf, join(folder, "company.conf"));
    const recipes = blocksIn(texts.get("docs/destinations.md") ?? "").filter(
      ({ language }) => language === "console",
    );
    const explained: string[] = [];
    for (const { text } of recipes) {
      // An explanation is of the rule before it.
      if (!text.startsWith("$ portcullis why")) {
        await withoutExits();
        await asAtFirst();
        await heard();
      }
      for (const { command, answer } of sessionIn(text)) {
        const next = Bun.sleep(PACE_MS);
        const { code, stdout, stderr } = await typed(command.replace(...IN_LAB));
        expect({ command, code, stdout, stderr }).toEqual({ command, code: 0, stdout, stderr });
        if (answer !== "") {
          expect(stdout).toMatch(patternOf(answer.replaceAll(RULE, "…")));
          explained.push(command);
        }
        await next;
      }
    }
    expect((await typed("sudo portcullis direct off")).code).toBe(0);
    await withoutExits();
    await asAtFirst();
    expect([recipes.length, explained]).toEqual([5, ["portcullis why TV 198.51.100.7"]]);
  },
  TIMEOUT_MS,
);

test(
  "the commands for one rule in the interface change and remove it",
  async () => {
    const block = blocks("console").find(({ text }) => text.includes(`$api/destinations/${RULE}`));
    const client = new Client(gateway.port);
    await client.ask("PUT", "/api/tunnels/amsterdam", { provider: "managed", server: "box-vpn-2" });
    const { id } = (
      await gateway.api("POST", "/api/destinations", { prefixes: ["192.0.2.0/24"], exit: "main" })
    ).body;
    const variables = blocksIn(texts.get("docs/interface.md") ?? "").find(({ text }) =>
      text.startsWith("api="),
    );
    const printed: string[] = [];
    for (const { command } of sessionIn(block?.text ?? "")) {
      const { stdout } = await typed(`${variables?.text}\n${command.replace(RULE, id)}`);
      printed.push(stdout);
      await Bun.sleep(PACE_MS);
    }
    expect(printed).toEqual([expect.stringContaining('"exit":"amsterdam"'), '{"success":true}']);
    await withoutExits();
  },
  TIMEOUT_MS,
);

test("each command for another machine exists", async () => {
  const commands = blocks("console")
    .flatMap(({ text }) => text.split("\n"))
    .map((line) => /^\$ (?:sudo )?(?:\.\/)?portcullis ([^#]*)/.exec(line)?.[1]?.trim() ?? "")
    .filter((words) => words !== "");
  expect(commands.length).toBeGreaterThan(8);
  for (const words of commands) {
    const { code, stderr } = await typed(`portcullis ${words} --help`);
    expect({ words, code, stderr }).toEqual({ words, code: 0, stderr: "" });
  }
}, 60_000);

test("the listener hears the status", async () => {
  const [listener] = blocks("ts");
  writeFileSync(join(folder, "listen.ts"), (listener?.text ?? "").replace(":5000", `:${gateway.port}`));
  const child = Bun.spawn([process.execPath, join(folder, "listen.ts")], {
    stdout: "pipe",
    stderr: "ignore",
  });
  const { value } = await child.stdout.getReader().read();
  child.kill();
  expect(new TextDecoder().decode(value)).toStartWith("status_change ");
}, 60_000);

test("each link to a file leads somewhere", async () => {
  const missing: string[] = [];
  for (const [page, text] of texts) {
    for (const [, target = ""] of text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)) {
      if (!(await Bun.file(join(ROOT, page, "..", target)).exists())) missing.push(`${page}: ${target}`);
    }
  }
  expect(missing).toEqual([]);
});
