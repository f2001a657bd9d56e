import { type Static, type TSchema, Type } from "typebox";
import { isName, nameIn } from "../base/name.ts";
import { objectOf } from "../base/object.ts";
import { listIn, SavedList } from "../base/saved.ts";
import { type Field, storedColumn } from "./field.ts";
import { type DeviceId, parseDeviceId } from "./id.ts";
import { assertSingle } from "./rate.ts";
import { LABEL_KEYS, LABELS, type LabelKey, type Labels } from "./values.ts";

/** The row of each label. */
export const LABEL_FIELDS = Object.fromEntries(LABEL_KEYS.map((key) => [key, fieldOf(key)])) as unknown as {
  [Key in LabelKey]: Field<Labels[Key]>;
};

/** The labels that a device has. */
export function labelsOf(
  device: { readonly [Key in LabelKey]?: Labels[Key] | null | undefined },
): Partial<Labels> {
  const given = LABEL_KEYS.flatMap((key) => (device[key] == null ? [] : [[key, device[key]] as const]));
  return Object.fromEntries(given);
}

/** `false` is not stored. */
function fieldOf(key: LabelKey): Field<string | boolean> {
  const Stored = objectOf({ id: Type.String(), value: LABELS[key] as TSchema });
  const list = new SavedList<Static<typeof Stored>>({
    key: `device_${key}`,
    what: key,
    /** Anyone on the LAN may give them. */
    max: 1_000,
    maxCharacters: 200,
    entriesIn: (text) =>
      listIn(Stored)(text).filter(({ id, value }) => parseDeviceId(id) === id && isLabel(value)),
    format: (all) => JSON.stringify(all.toSorted((a, b) => (a.id < b.id ? -1 : 1))),
    nameOf: ({ id }) => id,
    wordsOf: ({ value }) => (value === true ? "yes" : `${value}`),
  });
  return {
    parse: (given: string | boolean | null, { isSingle }) => {
      if (given === null || given === false) return null;
      assertSingle(isSingle, key);
      return typeof given === "string" ? nameIn(key, given) : given;
    },
    stored: storedColumn({
      list,
      entryOf: (id, value) => ({ id, value }),
      pairOf: ({ id, value }) => [id as DeviceId, value as string | boolean],
    }),
  };
}

function isLabel(value: unknown): boolean {
  return typeof value === "string" ? isName(value) : value === true;
}
