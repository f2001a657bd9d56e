import { MAX_BACKUP_BYTES } from "../shared/bounds.ts";
import { setupCommand } from "../system/layout.ts";
import { answers } from "./answers.ts";
import {
  AgreedRestore,
  BackupFile,
  BackupRequest,
  RestorePreview,
  RestoreRequest,
  RestoreResult,
} from "./backup-schema.ts";
import { type Client, clientOf, refuseUnknown } from "./client.ts";
import type { Domain } from "./domain.ts";
import { route } from "./route.ts";

/** A slow machine needs seconds to make a key of a passphrase. */
const ANSWER_WITHIN_SECONDS = 120;

/** A backup has all keys, and a restore replaces them. */
const shared = { tag: "Settings", access: "private", limit: "connection" } as const;

export const backupRoutes = [
  route({
    ...shared,
    method: "post",
    path: "/api/backup",
    id: "createBackup",
    summary: "Download a backup",
    description: "All that was set, and the keys, encrypted with the passphrase.",
    body: BackupRequest,
    example: { passphrase: "six words that nobody else knows" },
    answers: answers(BackupFile, "the file, which only the passphrase opens"),
    run: (domain, { request, body }) => {
      refuseUnknown(request, domain, {
        danger: "keys" as const,
        commands: `sudo portcullis export, or ${setupCommand("--auth write")}`,
      });
      return domain.backups.take(body.passphrase, patientClientOf(request, domain));
    },
  }),
  route({
    ...shared,
    method: "post",
    path: "/api/restore/preview",
    id: "previewRestore",
    summary: "Read what a restore would change",
    description: "Nothing is changed. `agreed` of the answer belongs into the request that restores.",
    body: RestoreRequest,
    maxBodyBytes: MAX_BACKUP_BYTES,
    answers: answers(RestorePreview, "everything that would change; nothing was changed"),
    run: (domain, { request, body }) => {
      patientClientOf(request, domain);
      return domain.backups.preview(body);
    },
  }),
  route({
    ...shared,
    method: "post",
    path: "/api/restore",
    id: "restoreBackup",
    summary: "Restore a backup",
    description: "Refused if anything else would change than what the preview said.",
    body: AgreedRestore,
    maxBodyBytes: MAX_BACKUP_BYTES,
    answers: answers(RestoreResult, "what was in the preview has changed"),
    run: (domain, { request, body }) => domain.backups.restore(body, patientClientOf(request, domain)),
  }),
];

/** The client; the answer may take longer than others. */
function patientClientOf(request: Request, domain: Domain): Client {
  domain.serverOf(request)?.timeout(request, ANSWER_WITHIN_SECONDS);
  return clientOf(request, domain);
}
