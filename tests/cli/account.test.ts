import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Log } from "../../src/base/log.ts";
import { answerOperator, type OperatorAnswers } from "../../src/operator/operator.ts";
import { Store } from "../../src/store/store.ts";
import { LinuxHost } from "../../src/system/linux.ts";
import { needsNamespaces, needsRoot } from "../fast.ts";
import { mullvadAccount } from "../providers/mullvad/accounts.ts";
import { FakeProvider, NUMBER } from "../providers/mullvad/provider.ts";
import { serveProvider } from "../providers/mullvad/server.ts";
import { makeCertificate } from "../system/certificate.ts";
import { atTerminal, run } from "./program.ts";

// Starting the program takes half a second, and ten times that on a busy machine.
setDefaultTimeout(120_000);

const folder = mkdtempSync(join(tmpdir(), "portcullis-cli-account-"));
let certificate = "";
let provider = new FakeProvider();
let server: Server;
let api = "";

beforeAll(async () => {
  const files = await makeCertificate(folder, "127.0.0.1");
  certificate = files.certificate;
  server = createServer(
    { cert: readFileSync(files.certificate), key: readFileSync(files.key) },
    serveProvider((request) => provider.send(request)),
  );
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  api = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
  provider = new FakeProvider();
});

function environment() {
  const stateDir = mkdtempSync(join(folder, "state-"));
  return {
    PORTCULLIS_STATE_DIR: stateDir,
    PORTCULLIS_MANAGED_API: api,
    PORTCULLIS_MANAGED_LIST: "",
    NODE_EXTRA_CA_CERTS: certificate,
    NO_COLOR: "1",
  };
}

const account = (env: Record<string, string>, args: string[], stdin = "") =>
  run(1, ["account", ...args], { env, stdin });

describe("without a running service", () => {
  needsNamespaces.test("login, show, rotate-key and logout use the database directly", async () => {
    const env = environment();
    const made = await account(env, ["login"], "1234 5678-9012 3456\n");
    const [device] = provider.devices.values();
    expect(made).toEqual({
      code: 0,
      stderr: "",
      stdout: `Logged in. You can now connect to the provider's servers.
Account       ************3456
Paid until    ${made.stdout.match(/2027-01-02 \(\d+ days\)/)?.[0]}
Registration  happy otter 50, since 2026-01-02
Addresses     10.64.0.50/32, fd64::50/128
Public key    ${device?.pubkey}
`,
    });
    const shown = await account(env, ["show", "--json"]);
    expect([shown.code, JSON.parse(shown.stdout)]).toEqual([
      0,
      {
        success: true,
        number: "************3456",
        device: "happy otter 50",
        public_key: device?.pubkey,
        addresses: ["10.64.0.50/32", "fd64::50/128"],
        created: "2026-01-02T03:04:05.000Z",
        paid_until: "2027-01-02T03:04:05.000Z",
        warnings: [],
      },
    ]);
    const rotated = await account(env, ["rotate-key", "--json"]);
    expect(JSON.parse(rotated.stdout).public_key).toBe(device?.pubkey);
    expect(JSON.parse(rotated.stdout).public_key).not.toBe(JSON.parse(shown.stdout).public_key);
    expect(await account(env, ["logout"])).toEqual({
      code: 0,
      stderr: "",
      stdout: 'Logged out; the registration "happy otter 50" was removed from the account.\n',
    });
    expect(provider.devices.size).toBe(0);
    expect(await account(env, ["show"])).toMatchObject({
      code: 1,
      stderr: "portcullis: there is no account here; log in with: portcullis account login\n",
    });
  });

  needsRoot.test("the number is never read from the command line, and 15 digits are not sent", async () => {
    const env = environment();
    for (const words of [["login", NUMBER], [NUMBER]]) {
      const refused = await account(env, words);
      expect(refused.code).toBe(2);
      expect(refused.stderr).not.toContain(NUMBER);
    }
    for (const stdin of ["", "123456789012345\n", "12345678901234567", "123456789012345x", "\n"]) {
      const refused = await account(env, ["login", "--json"], stdin);
      expect([refused.code, JSON.parse(refused.stdout).success]).toEqual([2, false]);
      expect(refused.stdout).toContain("Account number: ");
    }
    expect(provider.asked).toEqual([]);
  });

  needsNamespaces.test("a refusal is one sentence and code 1", async () => {
    const refused = await account(environment(), ["login"], "0000000000000000");
    expect(refused).toEqual({
      code: 1,
      stdout: "",
      stderr: "portcullis: the provider does not know this account number; check it for typing errors\n",
    });
  });

  test("a provider without a valid certificate is sent nothing", async () => {
    const env = { ...environment(), NODE_EXTRA_CA_CERTS: "" };
    const refused = await account(env, ["login"], NUMBER);
    expect([refused.code, refused.stdout]).toEqual([1, ""]);
    expect(provider.asked).toEqual([]);
  });

  test("an address that is not https is refused", async () => {
    const env = { ...environment(), PORTCULLIS_MANAGED_API: "http://127.0.0.1" };
    const refused = await account(env, ["login"], NUMBER);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("--managed-api");
  });

  needsNamespaces.test("at a terminal the number is asked for and not echoed", async () => {
    const env = environment();
    const terminal = atTerminal(1, ["account", "login"], env);
    await terminal.shows("Account number: ");
    terminal.type(`${NUMBER}\r`);
    expect(await terminal.exited).toBe(0);
    expect(terminal.screen()).toContain("Logged in");
    expect(terminal.screen()).not.toContain(NUMBER);
  });

  needsNamespaces.test("a backup contains the account, and restores it if there is none", async () => {
    const env = environment();
    await account(env, ["login"], NUMBER);
    const { stdout: backup } = await run(1, ["export", "--plain"], { env });
    const other = environment();
    const restore = (more: string[] = []) => run(1, ["restore", ...more], { env: other, stdin: backup });
    expect((await restore()).code).toBe(0);
    const numbers = async (of: Record<string, string>) =>
      JSON.parse((await account(of, ["show", "--json"])).stdout);
    expect(await numbers(other)).toEqual(await numbers(env));
    expect((await restore()).code).toBe(0);
    await account(other, ["rotate-key"]);
    const refused = await restore();
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(
      "the restore would replace what is here: the account Mullvad; nothing was changed",
    );
    expect((await restore(["--replace"])).code).toBe(0);
  });
});

describe("with a running service, which does the work", () => {
  async function service() {
    const env = environment();
    const stateDir = env.PORTCULLIS_STATE_DIR;
    const used = { inUse: false };
    const account = mullvadAccount(Store.open(stateDir, Date.now()), (request) => provider.send(request), {
      inUse: () => used.inUse,
    });
    const answers: Partial<OperatorAnswers> = {
      account: () => account.show(),
      "account/login": ({ credentials: [number = ""] }) => account.logIn(number),
      "account/logout": ({ forget }) => account.logOut(forget),
      "account/rotate-key": () => account.rotateKey(),
    };
    const operator = answerOperator(stateDir, answers as OperatorAnswers, {
      clock: new LinuxHost(),
      log: new Log("error"),
    });
    ends.push(() => operator.stop());
    return { env: { ...env, PORTCULLIS_MANAGED_API: "https://127.0.0.1:1" }, used };
  }

  needsRoot.test("for all commands", async () => {
    const { env, used } = await service();
    expect((await account(env, ["login"], NUMBER)).code).toBe(0);
    expect((await account(env, ["show"])).stdout).toContain("************3456");
    used.inUse = true;
    for (const command of ["logout", "rotate-key"]) {
      expect(await account(env, [command])).toEqual({
        code: 1,
        stdout: "",
        stderr: "portcullis: a tunnel uses the account; disconnect first: portcullis disconnect\n",
      });
    }
    used.inUse = false;
    expect((await account(env, ["rotate-key"])).code).toBe(0);
    provider.mishap("POST /token", null);
    const failed = await account(env, ["logout", "--json"]);
    expect([failed.code, JSON.parse(failed.stdout)]).toEqual([
      1,
      {
        success: false,
        error:
          "provider.test cannot be asked: the connection was closed; nothing was changed; pass --forget to remove the account here only",
      },
    ]);
    provider.mishap("POST /token", null);
    const forgotten = await account(env, ["logout", "--forget"]);
    expect(forgotten.code).toBe(0);
    expect(forgotten.stdout).toContain(
      'Logged out; the registration "happy otter 50" was removed here only.\nNote: the registration',
    );
    expect((await account(env, ["show", "--json"])).code).toBe(1);
  });
});

needsRoot.test(
  "the account of the named provider is shown, without a key if each connection has its own",
  async () => {
    const env = environment();
    const asked: unknown[] = [];
    const answers: Partial<OperatorAnswers> = {
      account: async (given) => {
        asked.push(given);
        const dates = { created: "2026-01-02T03:04:05.000Z", paid_until: null };
        const shown = { number: "****4567", device: "PIA account ****4567", public_key: null, addresses: [] };
        return { ...shown, ...dates, warnings: [] };
      },
    };
    const operator = answerOperator(env.PORTCULLIS_STATE_DIR, answers as OperatorAnswers, {
      clock: new LinuxHost(),
      log: new Log("error"),
    });
    ends.push(() => operator.stop());
    expect(await account(env, ["show", "--provider", "pia"])).toEqual({
      code: 0,
      stderr: "",
      stdout:
        "Account       ****4567\nPaid until    unknown\nRegistration  PIA account ****4567, since 2026-01-02\n",
    });
    expect(asked).toEqual([{ provider: "pia" }]);
    expect((await account(env, ["show", "--provider", "nobody"])).stderr).toContain(
      "mullvad, ivpn, pia, nordvpn",
    );
  },
);
