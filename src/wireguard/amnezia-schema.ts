import { type Static, Type } from "typebox";
import { objectOf } from "../base/object.ts";
import { AMNEZIA_MAX } from "../shared/bounds.ts";

const Junk = Type.Integer({ minimum: 0, maximum: AMNEZIA_MAX.junk });
const JunkBytes = Type.Integer({ minimum: 0, maximum: AMNEZIA_MAX.junkBytes });
const Padding = Type.Integer({ minimum: 0, maximum: AMNEZIA_MAX.padding });
/** `5` or `5-10`. */
const Numbers = Type.String({ pattern: "^[0-9]{1,10}(-[0-9]{1,10})?$" });
const Packet = Type.String({
  pattern: "^(<(b 0x([0-9a-f]{2})+|(r|rc|rd) [1-9][0-9]{0,3}|t|c)>)+$",
  maxLength: AMNEZIA_MAX.text,
});

/**
 * How AmneziaWG changes WireGuard's messages, by the names of its files: junk before a handshake (J), random bytes before
 * the four kinds of messages (S) and numbers in place of their types (H), packets before a handshake (I).
 */
export const Amnezia = objectOf({
  ...{ jc: Type.Optional(Junk), jmin: Type.Optional(JunkBytes), jmax: Type.Optional(JunkBytes) },
  ...{ s1: Type.Optional(Padding), s2: Type.Optional(Padding), s3: Type.Optional(Padding) },
  s4: Type.Optional(Type.Integer({ minimum: 0, maximum: AMNEZIA_MAX.dataPadding })),
  ...{ h1: Type.Optional(Numbers), h2: Type.Optional(Numbers) },
  ...{ h3: Type.Optional(Numbers), h4: Type.Optional(Numbers) },
  ...{ i1: Type.Optional(Packet), i2: Type.Optional(Packet), i3: Type.Optional(Packet) },
  ...{ i4: Type.Optional(Packet), i5: Type.Optional(Packet) },
});
export type Amnezia = Static<typeof Amnezia>;
export type AmneziaName = keyof Amnezia;

/** The same in a request, where a number need not be in quotes, and the rest is for `amneziaFrom` to judge. */
const [AsNumbers, AsPacket] = [
  Type.Optional(
    Type.Union([Type.Integer(), Type.String()], {
      description: "AmneziaWG: a number, or a range such as 5-10",
    }),
  ),
  Type.Optional(Type.String({ description: "AmneziaWG: a packet before each handshake, in its tags" })),
];
const { jc, jmin, jmax, s1, s2, s3, s4 } = Amnezia.properties;
export const AmneziaFields = {
  ...{ jc, jmin, jmax, s1, s2, s3, s4 },
  ...{ h1: AsNumbers, h2: AsNumbers, h3: AsNumbers, h4: AsNumbers },
  ...{ i1: AsPacket, i2: AsPacket, i3: AsPacket, i4: AsPacket, i5: AsPacket },
};
