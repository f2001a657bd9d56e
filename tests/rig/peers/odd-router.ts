import { SSDP } from "../../../src/killswitch/router.ts";
import { commandIn } from "../../../src/sandbox/namespace.ts";
import { ROUTER } from "../../../src/sandbox/topology.ts";
import { ODD_ROUTERS, OddRouter } from "../../port-mapping/odd-router.ts";
import type { Lab } from "../tools/lab.ts";

const HTTP_PORT = 5_000;
/** From where it answers a search. */
const ANSWERS_FROM = 49_152;

interface Place {
  oddity: string;
  own: string;
  /** What it says that its address on the internet is. */
  address: string;
  wanted: number;
}

/** A home router whose UPnP is odd. It forwards nothing, but it remembers. */
export class OddHomeRouter {
  private constructor(private readonly child: Bun.Subprocess) {}

  static async start(
    lab: Lab,
    oddity: string,
    given: Pick<Place, "address" | "wanted">,
  ): Promise<OddHomeRouter> {
    const { router } = lab.namespaces;
    // Without a route the router does not join the group.
    await lab.exec(router, ["ip", "route", "replace", `${SSDP.group}/32`, "dev", "lan0"]);
    const place: Place = { ...given, oddity, own: ROUTER.lan[2].v4 };
    const child = Bun.spawn(commandIn(router, [process.execPath, import.meta.path, JSON.stringify(place)]), {
      ...{ stdin: "ignore", stdout: "pipe" },
    });
    await child.stdout.getReader().read();
    return new OddHomeRouter(child);
  }

  async stop(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.exited;
  }
}

async function serve({ oddity, own, address, wanted }: Place): Promise<void> {
  const router = new OddRouter(ODD_ROUTERS[oddity] ?? {}, own, address, wanted);
  const answering = await Bun.udpSocket({ hostname: own, port: ANSWERS_FROM });
  for (const to of [own, SSDP.group]) {
    const socket = await Bun.udpSocket({
      ...{ hostname: to, port: SSDP.port },
      socket: {
        data: (_, bytes, port, from) => {
          for (const answer of router.found(bytes.toString(), to)) answering.send(answer, port, from);
        },
      },
    });
    if (to !== own) socket.addMembership(to, own);
  }
  Bun.serve({
    ...{ hostname: own, port: HTTP_PORT },
    fetch: async (request) => {
      const { pathname } = new URL(request.url);
      const action = request.headers.get("SOAPAction") ?? "";
      const { status, body } = router.page(pathname, action, await request.text());
      return new Response(body, { status });
    },
  });
  process.stdout.write("ready\n");
}

if (import.meta.main) await serve(JSON.parse(process.argv[2] ?? ""));
