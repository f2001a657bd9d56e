import { say } from "../language.ts";
import type { Row } from "./form.tsx";

/** Of whoever becomes an owner: the passphrase is typed twice. */
export const NEW_OWNER_ROWS: Record<"name" | "passphrase" | "again", Row> = {
  name: { label: say("Name of this browser"), hint: say("Such as laptop.") },
  passphrase: {
    label: say("New passphrase"),
    hint: say("You are asked for it before something leaves outside the tunnel."),
    type: "password",
  },
  again: { label: say("Once more"), type: "password", required: true },
};
