import { expect, test } from "bun:test";
import { outcomeOf } from "../../src/dashboard/wg-easy.ts";
import type { AddedRemoteDevice } from "../../src/remote/schema.ts";
import { generateKeyPair } from "../../src/wireguard/key.ts";

const GATEWAY = generateKeyPair();
const ADDED: AddedRemoteDevice = {
  id: "10.200.7.2/32",
  name: "Phone",
  addresses: ["10.200.7.2/32"],
  public_key: GATEWAY.publicKey,
  preshared_key: GATEWAY.privateKey,
  endpoint: { host: "home.example.org", port: 51_820 },
  allowed_ips: ["0.0.0.0/0"],
  home_ips: ["192.168.7.0/24"],
  dns: ["10.200.7.1"],
  mtu: 1_380,
};

test("a client of wg-easy keeps its key, which only its new file has, and the gateway gets the public one", async () => {
  const { privateKey, publicKey } = generateKeyPair();
  const asked: unknown[] = [];
  const outcome = await outcomeOf({ name: "Phone", privateKey }, async (device) => {
    asked.push(device);
    return ADDED;
  });
  expect(asked).toEqual([{ name: "Phone", public_key: publicKey }]);
  expect(outcome).toEqual({ name: "Phone", file: expect.stringContaining(`PrivateKey = ${privateKey}\n`) });
});

test("one that the gateway refuses has the reason, and no file", async () => {
  const { privateKey } = generateKeyPair();
  const outcome = await outcomeOf({ name: "Phone", privateKey }, async () => {
    throw new Error("Remote access is off.");
  });
  expect(outcome).toEqual({ name: "Phone", fault: "Remote access is off." });
});
