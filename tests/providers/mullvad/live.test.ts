import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Account } from "../../../src/providers/account.ts";
import { managedAccountIn } from "../../../src/providers/mullvad/live.ts";
import type { ManagedList } from "../../../src/servers/managed.ts";
import type { Provider } from "../../../src/servers/schema.ts";
import { settingsFrom } from "../../../src/settings.ts";
import { Store } from "../../../src/store/store.ts";
import type { State } from "../../../src/tunnel/state.ts";
import { PRIVATE, SERVER } from "../../servers/example.ts";
import { FakeProvider, NUMBER } from "./provider.ts";

const directory = mkdtempSync(join(tmpdir(), "portcullis-live-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const DISCONNECTED: State = { name: "disconnected" };

function live({ state = DISCONNECTED, remembered = null as Provider | null, given = false } = {}) {
  const provider = new FakeProvider();
  const accounts: Account[] = [];
  const managedAccount = managedAccountIn(
    {
      settings: settingsFrom(given ? { managedKeyFile: "/key", managedAddress: "192.0.2.7/32" } : {}),
      host: { read: async () => PRIVATE },
      store: Store.open(mkdtempSync(join(directory, "state-")), 0),
      catalogue: {
        managed: { useAccount: (account: Account) => void accounts.push(account) } as ManagedList,
      },
      controller: { state },
      savedState: {
        connection: () => remembered && { provider: remembered, name: "x", since: 0 },
      },
    },
    provider.send,
  );
  return { managedAccount, provider, accounts };
}

test("the managed provider takes up the device, and is without one after logging out", async () => {
  const { managedAccount, provider, accounts } = live();
  const { addresses } = await managedAccount.logIn(NUMBER);
  expect(accounts).toMatchObject([{ interface: { addresses, dns: ["10.64.0.1"] } }]);
  expect(new Set(provider.asked.map((line) => line.split(" ")[1]))).toContain("/auth/v1/token");
  await managedAccount.logOut(false);
  expect(accounts.at(-1)).toHaveProperty("missing");
});

test("an account that the settings give stays in use, and whoever logs in is told", async () => {
  const { managedAccount, accounts } = live({ given: true });
  expect((await managedAccount.logIn(NUMBER)).warnings).toEqual([
    "the settings name another account, which is used instead: --managed-key-file and --managed-address",
  ]);
  expect(accounts).toMatchObject([{ interface: { privateKey: PRIVATE, addresses: ["192.0.2.7/32"] } }]);
});

describe("the account is in use where a managed tunnel is, is to be, or comes back", () => {
  const managed = { ...SERVER, provider: "managed" as const };
  const connected = (server: typeof SERVER) =>
    ({ name: "connected", since: 0, session: { server } }) as unknown as State;

  test.each([
    ["connected to a managed server", { state: connected(managed) }, true],
    ["connected to a server of one's own", { state: connected(SERVER) }, false],
    ["dialling a managed server", { state: { name: "connecting", server: managed, former: null } }, true],
    [
      "on the way back to a managed server",
      { state: { name: "reconnecting", server: managed, session: null, since: 0 } },
      true,
    ],
    ["failed to reach a managed server", { state: { name: "failed", server: managed } }, false],
    ["a managed server is remembered", { remembered: "managed" }, true],
    ["another server is remembered", { remembered: "custom" }, false],
    ["nothing", {}, false],
  ] as [string, Parameters<typeof live>[0], boolean][])("%s", async (_, situation, used) => {
    const { managedAccount } = live(situation);
    await managedAccount.logIn(NUMBER);
    const left = await managedAccount.logOut(false).then(
      () => "out",
      (error: Error) => error.message,
    );
    expect(left).toBe(
      used
        ? "a tunnel of the managed provider uses the account; disconnect first: portcullis disconnect"
        : "out",
    );
  });
});
