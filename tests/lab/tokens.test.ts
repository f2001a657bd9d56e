import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { LAN } from "../../src/sandbox/topology.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { PROGRAM } from "../rig/tools/program.ts";
import { patiently } from "../rig/tools/retried.ts";

/** Network namespaces and a gateway, on a busy machine. */
setDefaultTimeout(240_000);

let lab: Lab;
let gateway: Gateway;

beforeAll(async () => {
  lab = await createLab({ cards: 2, computers: 3 });
  gateway = await lab.startGateway({ flags: ["--host", "::", "--auth", "on"] });
});
afterAll(() => lab?.close());

/** The status code of a request from a computer of the LAN; the token is in a file, as it should be. */
async function code(namespace: string, method: string, path: string, token?: string): Promise<number> {
  const header = join(lab.sandbox.directory, "header");
  writeFileSync(header, token === undefined ? "" : `Authorization: Bearer ${token}\n`, { mode: 0o600 });
  const url = `http://${LAN.gateway4}:${gateway.port}${path}`;
  const shown = "%{http_code} %header{retry-after}";
  const argv = ["curl", "-s", "-m", "60", "-o", "/dev/null", "-w", shown, "-H", `@${header}`];
  const { status } = await patiently(async () => {
    const { stdout } = await lab.exec(namespace, [...argv, "-X", method, url]);
    const [code, seconds] = stdout.split(" ");
    return { status: Number(code), headers: new Headers(seconds ? { "Retry-After": seconds } : {}) };
  });
  return status;
}

/** Root's own command on the gateway, or a command of another computer. */
const portcullis = (namespace: string, host: string, ...words: string[]) =>
  lab.exec(namespace, [
    ...["env", `PORTCULLIS_STATE_DIR=${join(lab.sandbox.directory, "state")}`],
    ...[...PROGRAM, ...words, "--url", `http://${host}:${gateway.port}`],
  ]);

test("the guest is refused, the phone is admitted, and root needs no token on the gateway itself", async () => {
  expect(gateway.log()).toContain(
    "warn: there is no token yet; make one for each client: sudo portcullis token add <name>",
  );
  const [phone = "", guest = ""] = lab.sandbox.computers.map(({ namespace }) => namespace);
  const { code: exit, stdout } = await gateway.operate("token", "add", "phone");
  const token = stdout.trim();
  expect(exit).toBe(0);
  expect(await code(guest, "GET", "/api/status")).toBe(401);
  expect(await code(phone, "GET", "/api/status", token)).toBe(200);
  const inside = lab.namespaces.gateway;
  expect(await portcullis(inside, "127.0.0.1", "status")).toMatchObject({ code: 0, stderr: "" });
  // The service does not answer at this address for root's commands: it could be another program's.
  expect(await portcullis(inside, LAN.gateway4, "status")).toMatchObject({ code: 1 });
  expect(await portcullis(guest, LAN.gateway4, "status")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("a token is needed"),
  });
  expect(gateway.log()).not.toContain(token);
});
