import { afterAll, afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LinuxHost } from "../../src/system/linux.ts";
import { needsNamespaces } from "../fast.ts";
import { Home } from "../http/home.ts";
import { newDirectory } from "../tunnel/directory.ts";
import { atTerminal, run } from "./program.ts";

// Each command starts the program, and the machine may be busy.
setDefaultTimeout(120_000);

const NAME = `pctoken${process.pid}`;
const machine = new LinuxHost();
const stateDir = newDirectory();
const file = join(stateDir, "token");

let home: Home | null = null;
afterEach(() => home?.stop());
afterAll(async () => {
  await machine.run(["ip", "netns", "del", NAME]).catch(() => {});
  rmSync(stateDir, { recursive: true, force: true });
});

const HOW = "to make one, on the gateway: sudo portcullis token add <name>";

needsNamespaces.test("without a service, tokens are made, listed and removed in the database", async () => {
  await machine.run(["ip", "netns", "add", NAME]);
  const token = (...words: string[]) =>
    run(0, ["token", ...words, "--state-dir", stateDir], { namespace: NAME });
  const made = await token("add", "phone");
  expect(made).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^portcullis_[0-9a-z]{26}\n$/),
    stderr:
      "This is the token phone, which may read and change. It is not shown again:\n" +
      "No token is needed yet. To require one: sudo portcullis install --auth on (or write)\n",
  });
  const { stdout, stderr } = await token("add", "tablet", "--read-only", "--auth", "on", "--json");
  expect(JSON.parse(stdout)).toMatchObject({ name: "tablet", read_only: true });
  expect(stderr).toBe("This is the token tablet, which may only read. It is not shown again:\n");
  const today = new Date().toISOString().slice(0, 10);
  expect(await token("list")).toMatchObject({
    code: 0,
    stdout:
      `Token   May                  Made\nphone   may read and change  ${today}\ntablet  may only read        ${today}\n` +
      "No request needs a token (--auth off).\n",
  });
  expect(await token("remove", "phone")).toMatchObject({
    code: 0,
    stdout: "Removed the token phone. Requests with it are refused.\n",
  });
  expect(await token("remove", "phone")).toMatchObject({
    code: 1,
    stderr: "portcullis: there is no token phone: see sudo portcullis token list\n",
  });
  expect(await token("add", "tablet")).toMatchObject({ code: 2 });
  expect(JSON.parse((await token("list", "--json")).stdout)).toMatchObject({
    auth: "off",
    tokens: [{ name: "tablet", read_only: true }],
  });
});

test("the token comes from the environment or a file, and what is refused says what to do", async () => {
  home = await Home.withRealClock("on");
  const { port, parts } = home;
  const phone = (await parts.tokens.add("phone", false)).token;
  const tablet = (await parts.tokens.add("tablet", true)).token;
  const none = { PORTCULLIS_STATE_DIR: stateDir };
  const status = (env: Record<string, string>, ...words: string[]) =>
    run(port, ["status", ...words], { env: { ...none, ...env } });
  expect(await status({})).toEqual({
    code: 1,
    stdout: "",
    stderr:
      `portcullis: a token is needed, as Authorization: Bearer <token>; ${HOW}; ` +
      "pass it by --token-file, PORTCULLIS_TOKEN_FILE or PORTCULLIS_TOKEN, or use sudo on the gateway\n",
  });
  expect(await status({ PORTCULLIS_TOKEN: phone })).toMatchObject({ code: 0, stderr: "" });
  writeFileSync(file, `${tablet}\n`);
  expect(await status({ PORTCULLIS_TOKEN_FILE: file })).toMatchObject({ code: 0, stderr: "" });
  expect(await status({}, "--token-file", file)).toMatchObject({ code: 0, stderr: "" });
  expect(await run(port, ["check", "--token-file", file], { env: none })).toMatchObject({ stderr: "" });
  expect(await run(port, ["disconnect", "--token-file", file], { env: none })).toMatchObject({
    code: 1,
    stderr: `portcullis: this token may only read; for changes, ${HOW}\n`,
  });
  expect(await status({ PORTCULLIS_TOKEN: `${phone}x` })).toMatchObject({
    code: 1,
    stderr: `portcullis: the token is not valid, or was removed; ${HOW}\n`,
  });
  expect(await status({ PORTCULLIS_TOKEN: "not a token" })).toMatchObject({
    code: 2,
    stderr: "portcullis: PORTCULLIS_TOKEN: is not a token\n",
  });
  expect(await status({}, "--token-file", join(stateDir, "nothing"))).toMatchObject({ code: 2 });
});

test("status --watch opens its WebSocket with the token, and ends when it is removed", async () => {
  home = await Home.withRealClock("on");
  const { token } = await home.parts.tokens.add("phone", true);
  const watch = atTerminal(home.port, ["status", "--watch"], {
    PORTCULLIS_TOKEN: token,
    PORTCULLIS_STATE_DIR: stateDir,
  });
  await watch.shows("disconnected");
  await home.parts.tokens.remove("phone");
  await watch.shows("portcullis: the token was removed");
  expect(await watch.exited).toBe(1);
});
