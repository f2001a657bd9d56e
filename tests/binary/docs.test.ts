import { expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { blocksIn, patternOf, rowsIn, sessionIn } from "./page.ts";
import {
  asAtFirst,
  ask,
  blocks,
  folder,
  gateway,
  lab,
  paced,
  ROOT,
  TIMEOUT_MS,
  testPages,
  textsOf,
  typed,
  VARIABLES,
  withoutExits,
} from "./pages.ts";

setDefaultTimeout(TIMEOUT_MS);

const texts = await textsOf([...new Bun.Glob("docs/**/*.md").scanSync(ROOT)].toSorted());

test("the pages have commands", () => {
  expect(blocks(texts, "sh").length).toBeGreaterThanOrEqual(7);
  expect([...texts.values()].flatMap(rowsIn).length).toBeGreaterThanOrEqual(13);
  expect(blocks(texts, "shell-session").length).toBeGreaterThanOrEqual(13);
  expect(blocks(texts, "console").length).toBeGreaterThanOrEqual(5);
});

testPages(texts);

/** A rule's id, as pages have it. */
const RULE = "3f9a1c";
/** What people have in place of the lab's things. */
const IN_LAB = ["connect Amsterdam", "connect box-vpn-2"] as const;

test("the recipes of destinations are carried out as they stand, with a server of the lab's, and explain themselves", async () => {
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
      await gateway.hearsHome();
    }
    for (const { command, answer } of sessionIn(text)) {
      const { code, stdout, stderr } = await paced(command.replace(...IN_LAB));
      expect({ command, code, stdout, stderr }).toEqual({ command, code: 0, stdout, stderr });
      if (answer !== "") {
        expect(stdout).toMatch(patternOf(answer.replaceAll(RULE, "…")));
        explained.push(command);
      }
    }
  }
  expect((await typed("sudo portcullis direct off")).code).toBe(0);
  await withoutExits();
  await asAtFirst();
  expect([recipes.length, explained]).toEqual([5, ["portcullis why TV 198.51.100.7"]]);
});

test("the commands for one rule in the interface change and remove it", async () => {
  const block = blocks(texts, "console").find(({ text }) => text.includes(`$api/destinations/${RULE}`));
  await ask("PUT", "/api/tunnels/amsterdam", { provider: "managed", server: "box-vpn-2" });
  const { id } = (await ask("POST", "/api/destinations", { prefixes: ["192.0.2.0/24"], exit: "main" })).body;
  const printed: string[] = [];
  for (const { command } of sessionIn(block?.text ?? "")) {
    const { stdout } = await typed(`${VARIABLES}\n${command.replace(RULE, id)}`);
    printed.push(stdout);
  }
  expect(printed).toEqual([expect.stringContaining('"exit":"amsterdam"'), '{"success":true}']);
  await withoutExits();
});

test("the commands that lead a tunnel again to where it led last do so", async () => {
  await asAtFirst();
  const targets = ["box-vpn-1", "box-vpn-2"].map((server) => ({ provider: "managed", server }));
  expect((await ask("POST", "/api/connect", { targets })).status).toBe(200);
  const { order } = (await ask("GET", "/api/status")).body;
  const block = blocks(texts, "console").find(({ text }) => text.includes("last.json"))?.text ?? "";
  for (const { command } of sessionIn(block)) {
    const { code, stderr } = await typed(`${VARIABLES}\n${command.replace("curl ", "curl -fsS ")}`);
    expect({ command, code, stderr }).toEqual({ command, code: 0, stderr: "" });
  }
  expect((await ask("GET", "/api/status")).body).toMatchObject({ connected: true, order });
});

test("the listener hears the status", async () => {
  const [listener] = blocks(texts, "ts");
  writeFileSync(join(folder, "listen.ts"), (listener?.text ?? "").replace(":5000", `:${gateway.port}`));
  const child = Bun.spawn([process.execPath, join(folder, "listen.ts")], {
    stdout: "pipe",
    stderr: "ignore",
  });
  const { value } = await child.stdout.getReader().read();
  child.kill();
  expect(new TextDecoder().decode(value)).toStartWith("status_change ");
}, 60_000);
