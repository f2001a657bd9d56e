import { expect, test } from "bun:test";
import { GatewayError } from "../../src/base/errors.ts";
import { reasonOf } from "../../src/base/reason.ts";
import { refusals } from "../../src/base/refusals.ts";

const refused = refusals({
  "bad_request: name": { taken: "{name} is taken" },
  bad_request: { missing: "{field} is required" },
});

test("a reason is in English, and has what says it in another language", () => {
  expect(reasonOf(refused("missing", { field: "server" }))).toEqual({
    error: "server is required",
    error_args: { what: "missing", field: "server" },
  });
});

test("the field of the request that would be wrong is left out of a row", () => {
  expect(reasonOf(refused("taken", { name: "tv" }))).toEqual({
    error: "tv is taken",
    error_args: { what: "taken", name: "tv" },
  });
});

test("what has no row is English only, and quotes no key", () => {
  const key = "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=";
  expect(reasonOf(new GatewayError("kernel_refused", "nft failed"))).toEqual({ error: "nft failed" });
  expect(JSON.stringify(reasonOf(new Error(`wg: ${key}`)))).not.toContain(key);
});
