import { refusals } from "../base/refusals.ts";

export const refused = refusals({
  passphrase_short: {
    code: "bad_request",
    field: "passphrase",
    text: "must have at least {min} characters",
  },
  passphrase_missing: {
    code: "bad_request",
    text: "passphrase is required: the backup is encrypted",
  },
  passphrase_wrong: {
    code: "unable",
    text: "wrong passphrase, or the backup was altered; nothing was changed",
  },
  backup_damaged: { code: "unable", text: "the backup is damaged; nothing was changed" },
  backup_damaged_at: { code: "unable", text: "the backup is damaged: {reason}; nothing was changed" },
  backup_foreign: { code: "unable", text: "this is not a Portcullis backup, or it is damaged" },
  backup_newer: {
    code: "unable",
    text: "the backup was made by a newer Portcullis, or it is damaged; nothing was changed",
  },
  backup_too_large: {
    code: "unable",
    text: "the backup is too large for this; on the gateway: {command}",
  },
  backup_busy: {
    code: "rate_limited",
    text: "another backup is being made or restored; try again in a moment",
  },
  restore_for_root: { code: "forbidden", text: "{reason}" },
  restore_changed: {
    code: "unable",
    field: "agreed",
    text: "other things would change than the preview said; nothing was changed, look at it again",
  },
  restore_while_up: {
    code: "unable",
    text: "a tunnel is up or being brought up; disconnect first: portcullis {command}",
  },
  restore_opens: {
    code: "unable",
    text: "the backup lets {devices} leave directly, outside the tunnel; nothing was changed; pass --direct to restore that too",
  },
  restore_opens_remote: {
    code: "unable",
    text: "the backup turns remote access on, or changes it; nothing was changed",
  },
  restore_replaces: {
    code: "unable",
    text: "the restore would replace what is here: {names}; nothing was changed; pass --replace to allow that",
  },
  restore_too_much: {
    code: "unable",
    text: "there would be more than {max} {of, select, managed {among the VPN account's servers} custom {among your own servers} imported {among the imported servers} prefixes {prefixes behind other routers} devices {devices with a name or an exit} other {{of}}}; nothing was changed",
  },
  restore_too_large: {
    code: "unable",
    text: "the servers would take more than {max} bytes; nothing was changed",
  },
});
