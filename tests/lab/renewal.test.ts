import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { commandIn } from "../../src/sandbox/namespace.ts";
import { ROUTER } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { CLIENT_ENVIRONMENT } from "../rig/tools/client-programs.ts";
import { Daemon } from "../rig/tools/daemon.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { until } from "../rig/tools/until.ts";
import { Wiretap } from "../rig/tools/wiretap.ts";

const { test } = long("each case of what other labs show in passing");

setDefaultTimeout(120_000);

/** The client renews after 4 s, by unicast. */
const RENEWED_WITHIN_MS = 20_000;

const SERVER = `port=0
interface=lan0
bind-interfaces
log-dhcp
dhcp-range=192.168.88.100,192.168.88.130,1h
dhcp-authoritative
dhcp-option=option:T1,4
`;
/** Nothing but the address: Debian's own script would write files of this machine. */
const SCRIPT = `#!/bin/sh
case $reason in BOUND | RENEW | REBIND) ip address replace "$new_ip_address/24" dev "$interface" ;; esac
`;

let lab: Lab;
let service: Gateway;
let server: Daemon;
let client: Bun.Subprocess;
beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  server = new Daemon(lab, lab.namespaces.router, "dnsmasq");
  writeFileSync(server.file("conf"), SERVER);
  const files = [`--dhcp-leasefile=${server.file("leases")}`, `--pid-file=${server.file("pid")}`];
  server.start(["-k", "--user=root", "--log-facility=-", "-C", server.file("conf"), ...files]);
  service = await lab.startGateway();
  const file = (name: string) => join(lab.sandbox.directory, `dhclient.${name}`);
  writeFileSync(file("script"), SCRIPT, { mode: 0o755 });
  writeFileSync(file("conf"), "request subnet-mask;\n");
  const own = ["-cf", file("conf"), "-lf", file("leases"), "-pf", file("pid"), "-sf", file("script")];
  // Its socket for unicast packets is bound to no device.
  client = Bun.spawn(
    commandIn(lab.namespaces.gateway, ["dhclient", "-4", "-d", ...own, lab.sandbox.uplink]),
    { env: CLIENT_ENVIRONMENT, stdin: "ignore", stdout: "ignore", stderr: "ignore" },
  );
});
afterAll(async () => {
  client.kill();
  await client.exited;
  await server.stop();
  await lab.close();
});

test("a lease is renewed by unicast from a socket that is bound to no device, in every state", async () => {
  const renewals = async () => {
    const tap = await Wiretap.start(
      lab.namespaces.router,
      "lan0",
      `udp dst port 67 and dst host ${ROUTER.lan[2].v4}`,
    );
    const before = acknowledged();
    await until(async () => acknowledged() >= before + 2, RENEWED_WITHIN_MS);
    return (await tap.stop()).length;
  };
  const acknowledged = () => server.log().match(/DHCPACK/g)?.length ?? 0;
  await until(async () => acknowledged() > 0, RENEWED_WITHIN_MS);
  expect(await renewals()).toBeGreaterThan(0);
  expect((await service.api("POST", "/api/connect", { server: "box-vpn-1" })).status).toBe(200);
  expect(await renewals()).toBeGreaterThan(0);
});
