import dgram from "node:dgram";
import { decode, encode, type RecordType } from "dns-packet";
import { commandIn } from "../../../src/sandbox/namespace.ts";

const PORT = 5353;
const NAME = "living-room.local";

/** A host that tells its name when it is asked by multicast DNS, as Debian's avahi-daemon does. */
export async function startResponder(namespace: string): Promise<Bun.Subprocess> {
  const child = Bun.spawn(commandIn(namespace, [process.execPath, import.meta.path]), { stdout: "pipe" });
  await child.stdout.getReader().read();
  return child;
}

/** RFC 6762, section 6.7: an answer to a question from another port repeats its id and its question. */
function answerTo(message: Buffer): Buffer | null {
  const { id = 0, questions = [] } = decode(message);
  const [question] = questions;
  if (question?.type !== "PTR") return null;
  const type = "PTR" as RecordType;
  const answers = [{ type: "PTR" as const, name: question.name, ttl: 10, data: NAME }];
  return encode({ type: "response", id, questions: [{ type, name: question.name }], answers });
}

if (import.meta.main) {
  const socket = dgram.createSocket("udp4");
  socket.on("message", (message, { address, port }) => {
    const answer = answerTo(message);
    if (answer !== null) socket.send(answer, port, address);
  });
  socket.bind(PORT, () => console.log("ready"));
}
