import { refusals } from "../base/refusals.ts";

export const refused = refusals({
  bad_request: { passphrase_missing: "passphrase is required: the backup is encrypted" },
  unable: {
    passphrase_wrong: "wrong passphrase, or the backup was altered; nothing was changed",
    backup_damaged: "the backup is damaged; nothing was changed",
    backup_damaged_at: "the backup is damaged: {reason}; nothing was changed",
    backup_foreign: "this is not a Portcullis backup, or it is damaged",
    backup_newer: "the backup was made by a newer Portcullis, or it is damaged; nothing was changed",
    backup_too_large: "the backup is too large for this; on the gateway: {command}",
    restore_while_up: "a tunnel is up or being brought up; disconnect first: portcullis {command}",
    restore_opens:
      "the backup lets {devices} leave directly, outside the tunnel; nothing was changed; pass --direct to restore that too",
    restore_opens_remote: "the backup turns remote access on, or changes it; nothing was changed",
    restore_replaces:
      "the restore would replace what is here: {names}; nothing was changed; pass --replace to allow that",
    restore_shares_key:
      "the linked home {home} and the device away from home {device} would have one key; nothing was changed; remove one of them first",
    restore_too_much:
      "there would be more than {max} {of, select, managed {among the VPN account's servers} custom {among your own servers} imported {among the imported servers} prefixes {prefixes behind other routers} devices {devices with a name or an exit} other {{of}}}; nothing was changed",
    restore_too_large: "the servers would take more than {max} bytes; nothing was changed",
  },
  "unable: agreed": {
    restore_changed: "other things would change than the preview said; nothing was changed, look at it again",
  },
  rate_limited: { backup_busy: "another backup is being made or restored; try again in a moment" },
  forbidden: { restore_for_root: "{reason}" },
});
