import { type Static, Type } from "typebox";
import { enumOf } from "../base/enum.ts";
import { objectOf } from "../base/object.ts";
import type { Client } from "./client.ts";

const PASSPHRASE = Type.String({ maxLength: 1_024, description: "at least 8 characters" });
const UNKNOWN = { additionalProperties: true, description: "the file, as it was downloaded or exported" };

/** POST /api/backup. */
export const BackupRequest = objectOf({ passphrase: PASSPHRASE });
export const BackupFile = Type.Object(
  { format: Type.Literal("portcullis-backup"), version: Type.Integer(), keys: Type.Literal("encrypted") },
  UNKNOWN,
);
export type BackupFile = Static<typeof BackupFile> & Record<string, unknown>;

const GIVEN = {
  backup: Type.Object({}, UNKNOWN),
  passphrase: Type.Optional({ ...PASSPHRASE, description: "if the backup is encrypted" }),
};

/** POST /api/restore/preview. */
export const RestoreRequest = objectOf(GIVEN);
export type RestoreRequest = Static<typeof RestoreRequest>;

export const RestorePreview = objectOf({
  created: Type.String({ description: "when the backup was made, in ISO 8601" }),
  changes: Type.Array(Type.String(), {
    description: "everything that would change, a line each; everything else stays",
  }),
  refused: Type.Union([Type.String(), Type.Null()], {
    description: "why it cannot be restored here now; null if it can",
  }),
  agreed: Type.String({ description: "stands for these changes, in the request that makes them" }),
});
export type RestorePreview = Static<typeof RestorePreview>;

/** POST /api/restore. */
export const AgreedRestore = objectOf({
  ...GIVEN,
  agreed: Type.String({
    description: "`agreed` of the preview; if anything else would change by now, nothing is changed",
    pattern: "^[0-9a-f]{64}$",
  }),
});
export type AgreedRestore = Static<typeof AgreedRestore>;

export const RestoreResult = objectOf({
  servers: Type.Integer({ description: "how many the backup has" }),
  replaced: Type.Integer({ description: "how many replaced another one of the same name" }),
  devices: Type.Integer(),
  killswitch: enumOf(["on", "off"], {
    description: "unchanged: no restore over the interface turns it off",
  }),
});
export type RestoreResult = Static<typeof RestoreResult>;

/** What a client may ask of backups. */
export interface Backups {
  take(passphrase: string, client: Client): Promise<BackupFile>;
  preview(given: RestoreRequest): Promise<RestorePreview>;
  restore(given: AgreedRestore, client: Client): Promise<RestoreResult>;
}
