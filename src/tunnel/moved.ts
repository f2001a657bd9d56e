import { type Static, Type } from "typebox";
import { enumOf } from "../base/enum.ts";
import { objectOf } from "../base/object.ts";

/** Why a tunnel leads elsewhere than before, though nobody has asked for it now. */
export const Moved = objectOf(
  {
    from: Type.String({ description: "the server before" }),
    because: enumOf(["silent", "carries_nothing", "better_answers", "slow", "lossy"], {
      description:
        "the server before did not answer, or answered handshakes and carried nothing, or a better target of the order answers again, or the server before was slow or lossy and the order says that it is left then",
    }),
  },
  { description: "that the tunnel has moved by itself; missing otherwise" },
);
export type Moved = Static<typeof Moved>;
