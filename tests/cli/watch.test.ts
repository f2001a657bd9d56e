import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { Home } from "../http/home.ts";
import { BODY } from "../servers/example.ts";
import { atTerminal, commandLine } from "./program.ts";

setDefaultTimeout(240_000);

let home: Home;
beforeEach(async () => {
  home = await Home.withRealClock();
});
afterEach(() => home.stop());

/** The program with its output in a pipe, line by line. */
function watching(...args: string[]) {
  const child = Bun.spawn(
    commandLine("status", "--watch", ...args, "--url", `http://127.0.0.1:${home.port}`),
    {
      stdout: "pipe",
      stderr: "pipe",
    },
  );
  const lines = linesOf(child.stdout);
  return { child, next: async () => (await lines.next()).value ?? "", lines };
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of stream.pipeThrough(new TextDecoderStream() as never)) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}

test("status --watch prints a line for each change into a pipe, and exits 3 when the gateway ends", async () => {
  const { child, next } = watching();
  const stamp = "\\d{4}-\\d\\d-\\d\\dT[0-9:.]+Z  ";
  expect(await next()).toMatch(new RegExp(`^${stamp}Blocked  disconnected  kill switch active$`));
  await home.parts.connects.connect({ server: "se-1" });
  expect(await next()).toMatch(new RegExp(`^${stamp}Connecting  connecting  kill switch active$`));
  expect(await next()).toMatch(
    new RegExp(`^${stamp}Connected  connected  se-1 \\(Stockholm, Sweden\\)  kill switch active$`),
  );
  home.parts.events.publish({ type: "server_update", payload: { provider: "custom", count: 3 } });
  expect(await next()).toMatch(new RegExp(`^${stamp}your own servers: 3$`));
  const alert = {
    code: "firewall_altered",
    message: "rules are gone",
    at: "2026-01-02T03:04:05.678Z",
  } as const;
  home.parts.events.publish({ type: "security_alert", payload: alert });
  expect(await next()).toMatch(new RegExp(`^${stamp}firewall_altered: rules are gone$`));
  await home.stop();
  expect(await child.exited).toBe(3);
  expect(await child.stderr.text()).toContain("the gateway stops");
});

test("with --json each line is an event as the gateway sends it", async () => {
  const { child, next } = watching("--json");
  expect(JSON.parse(await next())).toEqual({
    type: "status_change",
    payload: await home.parts.overview.status(),
  });
  child.kill();
  await child.exited;
});

test("it ends quietly when its reader closes the pipe", async () => {
  const { child, next, lines } = watching();
  await next();
  await lines.return(undefined);
  while (child.exitCode === null) {
    // The pipe's end is found out by what is written into it.
    home.parts.events.publish({ type: "server_update", payload: { provider: "custom", count: 3 } });
    await Bun.sleep(50);
  }
  expect(child.exitCode).toBe(0);
  expect(await child.stderr.text()).toBe("");
});

test("at a terminal it draws over itself, in colours and no wider than the screen", async () => {
  home.parts.catalogue.addCustom({ ...BODY, name: "x".repeat(64) });
  home.parts.catalogue.use("custom");
  await home.parts.connects.connect({ server: "x".repeat(64) });
  const terminal = atTerminal(home.port, ["status", "--watch"]);
  await terminal.shows("Servers\x1b[22m      Your own\r\n");
  expect(terminal.screen()).toContain("\x1b[32mconnected\x1b[39m");
  expect(terminal.screen()).toContain(` ${"x".repeat(47)}\r\n`);
  await home.parts.controller.disconnect();
  // Ten lines up, and everything below is wiped.
  await terminal.shows("\x1b[10A\x1b[0J\x1b[2mHome\x1b[22m         \x1b[33mBlocked\x1b[39m");
  await terminal.shows("\x1b[2mState\x1b[22m        \x1b[1mdisconnected\x1b[22m");
  terminal.end();
  await terminal.exited;
});

test("at a terminal the last changes of other tunnels and of devices are below the status", async () => {
  const terminal = atTerminal(home.port, ["status", "--watch"], { NO_COLOR: "1" });
  await terminal.shows("Servers      VPN account\r\n");
  await home.parts.connects.connect({ server: "se-1" }, "tv");
  await terminal.shows("Z  tunnel tv: connected  se-1\r\n");
  await home.parts.devices.assign("02:00:00:00:00:20", { name: "TV", exit: "tv" });
  await terminal.shows("Z  TV (02:00:00:00:00:20) is offl");
  for (let count = 0; count < 9; count += 1)
    home.parts.events.publish({ type: "server_update", payload: { provider: "custom", count } });
  await terminal.shows("your own servers: 8");
  const last = terminal.screen().split("\x1b[0J").at(-1) ?? "";
  expect([...last.matchAll(/your own servers: (\d)/g)].map(([, n]) => n)).toEqual([..."45678"]);
  expect(last).not.toContain("TV");
  terminal.end();
  await terminal.exited;
});

test("a colour terminal sees colours unless NO_COLOR says otherwise", async () => {
  const colourful = atTerminal(home.port, ["status"]);
  expect(await colourful.exited).toBe(0);
  expect(colourful.screen()).toContain("\x1b[32mactive\x1b[39m");
  const plain = atTerminal(home.port, ["status"], { NO_COLOR: "1" });
  expect(await plain.exited).toBe(0);
  expect(plain.screen()).toContain("Kill switch  active");
});
