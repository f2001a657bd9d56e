import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { boundsFor } from "../../src/network/bounds-table.ts";
import { Home } from "../http/home.ts";
import { atTerminal, run } from "./program.ts";

// Each command starts the program, and the machine may be busy.
setDefaultTimeout(240_000);

let home: Home;
beforeEach(async () => {
  home = await Home.withRealClock();
  const stdin = boundsFor({ most: 1_000, places: 65_536, remote: null, ports: [5000] });
  await home.host.run(["nft", "-f", "-"], { stdin });
  home.host.links.get("up0")?.addresses.push("198.51.100.2/24");
  home.host.files.set("/etc/resolv.conf", "nameserver 198.51.100.1\n");
  home.host.files.set("/proc/sys/net/ipv4/ip_forward", "1\n");
});
afterEach(() => home.stop());

const portcullis = (...args: string[]) => run(home.port, args);

test("check prints a line for each check, and what to do under those that are not ok", async () => {
  const { code, stdout, stderr } = await portcullis("check");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toStartWith("ok       Version                        ");
  expect(stdout).toContain(`
ok       Resolver for server names      198.51.100.1
warning  Main tunnel                    not connected: nothing leaves by it
                                        What to do: Connect it: portcullis connect, with a server, a country or a city.
ok       IPv6                           on; filtered like IPv4
`);
  expect(stdout).toEndWith("\n0 faults, 1 warning.\n");
});

test("at a terminal no line is wider than it", async () => {
  const terminal = atTerminal(home.port, ["check"], { NO_COLOR: "1" });
  expect(await terminal.exited).toBe(0);
  const lines = terminal.screen().split("\r\n");
  // As wide as the terminal of the tests; what has no spaces is not broken.
  expect(lines.filter((line) => line.length > 70)).toEqual([]);
  expect(lines).toContain(`${" ".repeat(40)}What to do: Connect it:`);
});

test("--json prints the gateway's answer", async () => {
  const { code, stdout } = await portcullis("check", "--json");
  expect({ code, json: JSON.parse(stdout) }).toEqual({ code: 0, json: await home.parts.checkup.results() });
});

test("a gateway elsewhere that cannot be reached is not replaced by this machine", async () => {
  const { code, stdout, stderr } = await portcullis("check", "--url", "http://127.0.0.1:1");
  expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
  expect(stderr).toStartWith(
    "portcullis: cannot reach the gateway at http://127.0.0.1:1: connection refused;",
  );
});

test("the help lists what check itself takes, and says where the settings are", async () => {
  const { code, stdout } = await portcullis("check", "--help");
  expect(code).toBe(0);
  const [own = ""] = stdout.split("\nExamples:");
  expect([...own.matchAll(/^ {2}.*?(--[a-z-]+)/gm)].map(([, name]) => name)).toEqual([
    "--version",
    "--url",
    "--token-file",
    "--json",
    "--report",
    "--help",
  ]);
  expect(own).toEndWith("Settings are those of the installed service; portcullis serve --help lists them.\n");
});
