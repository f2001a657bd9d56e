import { expect, test } from "bun:test";
import { GatewayError } from "../../src/base/errors.ts";
import { loadTable } from "../../src/killswitch/table.ts";
import { explained } from "../../src/system/modules.ts";
import { needsNamespaces } from "../fast.ts";
import { inNamespace } from "../killswitch/namespace.ts";

const LIKELY =
  " (the kernel lacks a module for this or cannot load it; if the kernel was upgraded, restart the machine)";

test.each([
  "nft -e failed: /dev/stdin:3:5-9: Error: Could not process rule: No such file or directory",
  "nft -e failed: netlink.c:63: Unable to initialize Netlink socket: Protocol not supported",
  "nft -e failed: Error: cache initialization failed: Operation not supported",
  "ip -batch failed: Error: Unknown device type.",
  "wireguard-go cannot be started: is it installed?",
])("an error of a missing module names the likely cause: %s", (message) => {
  expect(explained(new GatewayError("kernel_refused", message))).toMatchObject({
    code: "kernel_refused",
    message: `${message}${LIKELY}`,
  });
});

test("another error stays as it is", () => {
  const error = new GatewayError(
    "kernel_refused",
    "nft -e failed: Error: Could not process rule: File exists",
  );
  expect(explained(error)).toBe(error);
});

needsNamespaces.test("the kernel answers so if the module of an expression is missing", () =>
  inNamespace(async (host) => {
    // No kernel has it in a bridge's table: it is looked up as that of a missing module is.
    const text = "add table bridge x; add chain bridge x a; add rule bridge x a fib daddr type local accept";
    await expect(loadTable(host, text)).rejects.toThrow(`No such file or directory${LIKELY}`);
  }),
);
