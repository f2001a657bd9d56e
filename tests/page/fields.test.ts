import { expect, test } from "bun:test";
import { faultIn } from "../../src/dashboard/fault.ts";
import { bodyOf, type FieldName, NOTHING } from "../../src/dashboard/views/servers/fields.ts";

const FIELD_NAMES = Object.keys(NOTHING) as FieldName[];

test("an error is shown at the field that it names", () => {
  const faults = {
    "endpoint: must be host:port, or [address]:port for IPv6.": [
      "endpoint",
      "It must be host:port, or [address]:port for IPv6.",
    ],
    "endpoint: the port must be a number.": ["endpoint", "The port must be a number."],
    "name: is taken; remove that server first.": ["name", "It is taken; remove that server first."],
    "Name is required.": ["name", "It is required."],
    "private_key is required.": ["private_key", "It is required."],
    "mtu must be a whole number from 576 to 65535.": ["mtu", "It must be a whole number from 576 to 65535."],
  };
  for (const [error, [field, text]] of Object.entries(faults))
    expect(faultIn(error, FIELD_NAMES)).toEqual({ field, text } as never);
  for (const error of ["The gateway does not answer.", "Too many requests at once.", ""])
    expect(faultIn(error, FIELD_NAMES)).toBeNull();
});

test("empty fields are left out, and numbers are sent as such", () => {
  expect(bodyOf({ ...NOTHING, name: " home ", dns: " ", mtu: "1380", persistent_keepalive: "soon" })).toEqual(
    {
      name: "home",
      mtu: 1380,
      persistent_keepalive: "soon",
    },
  );
});
