import { expect, test } from "bun:test";
import type { Opener } from "../../src/forwards/opener.ts";
import { fixedPort, openerFor } from "../../src/forwards/opener-for.ts";
import { VPN_PROVIDERS } from "../../src/providers/list.ts";

const opener = (kind: "nat-pmp" | "pia"): Opener => ({ ...fixedPort, kind });
const OPENERS = { "nat-pmp": opener("nat-pmp"), pia: opener("pia") };

test.each(VPN_PROVIDERS.map((each) => [each.label, each] as const))(
  "at %s, ports are opened as its row says, or refused",
  (label, company) => {
    const chosen = () => openerFor(null, { name: "one" }, company, OPENERS);
    if (company.ports === null) expect(chosen).toThrow(`${label}, whose server one is, does not open ports`);
    else expect(chosen()).toBe(OPENERS[company.ports]);
    expect(openerFor(443, { name: "one" }, company, OPENERS)).toBe(fixedPort);
  },
);

test("PIA opens ports, and an unknown provider is asked by NAT-PMP", () => {
  expect(VPN_PROVIDERS.flatMap(({ name, ports }) => (ports === null ? [] : [name]))).toEqual(["pia"]);
  expect(openerFor(null, { name: "one" }, null, OPENERS)).toBe(OPENERS["nat-pmp"]);
});
