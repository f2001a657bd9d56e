import { refusals } from "../base/refusals.ts";

export const refused = refusals({
  unable: {
    database_damaged: "The database is damaged{lost, select, yes { and cannot be replaced} other {}}.",
    database_failed: "The database could not be {work}: {reason}.",
    settings_unsaved:
      "{reason} The gateway works without it, but a restart would lose the changes made meanwhile; it keeps trying to save them.",
  },
});
