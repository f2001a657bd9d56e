import type { Device } from "../../../src/devices/schema.ts";
import { INTERNET, LAN } from "../../../src/sandbox/topology.ts";
import { createLab, type Gateway, type GatewayOptions, type Lab } from "../tools/lab.ts";
import { until } from "../tools/until.ts";
import { Browser } from "./browser.ts";

/** Network namespaces, a gateway and a browser, on a busy machine. */
export const TIMEOUT_MS = 300_000;

/** A home with three computers, the gateway as a real machine has it, and a browser on the laptop. */
export interface Rig {
  lab: Lab;
  gateway: Gateway;
  browser: Browser;
  /** The gateway's options for its next start. */
  options: GatewayOptions;
  /** The page's address, as the LAN has it. */
  url: string;
  /** What each test begins with: the gateway as it was when its `keep` was called, and no open page. */
  reset(): Promise<void>;
  /** Has each computer send something through the tunnel: a gateway that no device uses is not "Protected" yet. */
  send(): Promise<void>;
  close(): Promise<void>;
}

/** `program` is what to start as the gateway, unless it is what all tests start. */
export async function startRig({ program }: Pick<GatewayOptions, "program"> = {}): Promise<Rig> {
  const lab = await createLab({ cards: 2, computers: 3 });
  try {
    const options: GatewayOptions = {
      flags: ["--host", "::"],
      ...(program && { program }),
    };
    const gateway = await lab.startGateway(options);
    const browser = await Browser.start(lab.namespaces.client);
    const reset = async () => {
      await browser.closeTabs();
      await gateway.reset();
    };
    const send = async () => {
      for (const { namespace } of lab.sandbox.computers)
        await lab.exec(namespace, ["ping", "-c", "1", "-W", "10", INTERNET.host4]);
      const haveSent = async () =>
        (await gateway.api("GET", "/api/devices")).body.devices.some(({ tx_bytes }: Device) => tx_bytes > 0);
      await until(haveSent);
    };
    const close = async () => {
      await browser.close();
      await lab.close();
    };
    const url = `http://${LAN.gateway4}:${gateway.port}/`;
    return { lab, gateway, browser, options, url, reset, send, close };
  } catch (error) {
    await lab.close();
    throw error;
  }
}
