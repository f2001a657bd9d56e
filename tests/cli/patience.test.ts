import { afterEach, expect, spyOn, test } from "bun:test";
import { Api } from "../../src/cli/api.ts";
import { speedTest } from "../../src/cli/speed.ts";
import { connect, disconnect } from "../../src/cli/tunnel.ts";
import { changeTunnel } from "../../src/cli/tunnels.ts";

const timeout = spyOn(AbortSignal, "timeout");
afterEach(() => timeout.mockClear());

/** How long the first request of a command may take. The gateway refuses each. */
async function patienceOf(command: (api: Api) => Promise<unknown>): Promise<number | undefined> {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => Response.json({ error: "no" }, { status: 400 }),
  });
  try {
    const api = new Api(server.url.origin, { sleep: Bun.sleep }, "token");
    await expect(command(api)).rejects.toThrow("no");
    return timeout.mock.calls[0]?.[0];
  } finally {
    await server.stop(true);
  }
}

const then = ["se-2"];

test.each([
  ["a connect", 60_000, (api: Api) => connect(api, "se-1")],
  ["a connect with several targets", 255_000, (api: Api) => connect(api, "se-1", { then })],
  ["another tunnel's", 60_000, (api: Api) => changeTunnel(api, ["tv", "connect", "se-1"], {})],
  [
    "another tunnel's with several",
    255_000,
    (api: Api) => changeTunnel(api, ["tv", "connect", "se-1"], { then }),
  ],
  ["a speed test", 255_000, (api: Api) => speedTest(api, "speed.example.com/x", {})],
  ["its results", 60_000, (api: Api) => speedTest(api, undefined, {})],
  ["a disconnect", 60_000, (api: Api) => disconnect(api)],
])("the command line waits as long for %s as it may take", async (_, ms, command) => {
  expect(await patienceOf(command)).toBe(ms);
});
