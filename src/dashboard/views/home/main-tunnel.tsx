import { useEffect } from "preact/hooks";
import type { TunnelRow } from "../../../tunnel/schema.ts";
import { connectedSince, refresh } from "../../answers.ts";
import { agoOf, bytesOf, timeOf } from "../../format.ts";
import { say } from "../../language.ts";
import { orderFacts } from "../../order.ts";
import { type Fact, Facts } from "../../parts/facts.tsx";
import { Keys } from "../../parts/keys.tsx";
import { Pending } from "../../parts/pending.tsx";
import { portFact } from "../../parts/port-fact.ts";
import { qualityFact } from "../../parts/quality-fact.ts";
import { connectingText, targetOf } from "../../sentence.ts";
import type { Answers, Loaded } from "../../store.ts";
import { useCarried, useNow } from "../../traffic.ts";

/** WireGuard renews a session in use after two minutes, which no event announces. */
const RENEWED_AFTER_MS = 125_000;
const READ_AGAIN_MS = 15_000;

/** Where the tunnel `main` leads, and since when. */
export function MainTunnel({ tunnels }: { tunnels: Loaded<Answers["tunnels"]> }) {
  const main =
    tunnels.state === "ready" ? tunnels.value.tunnels.find(({ name }) => name === "main") : undefined;
  return (
    <section class="card">
      <h2>{say("Tunnel")}</h2>
      {tunnels.state !== "ready" && <Pending of={tunnels} />}
      {main?.state === "connected" && <Session row={main} />}
      {main !== undefined && main.state !== "connected" && (
        <p class="quiet">{main.state === "connecting" ? connectingText(main) : unconnectedText(main)}</p>
      )}
    </section>
  );
}

function unconnectedText(main: TunnelRow): string {
  const target = targetOf(main);
  return target === null ? say("Not connected.") : say("Not connected to {target}.", { target });
}

function Session({ row }: { row: TunnelRow }) {
  const now = useNow();
  const carried = useCarried(row.name) ?? { rx: row.rx_bytes, tx: row.tx_bytes };
  useRenewal(row.latest_handshake, now);
  const facts: Fact[] = [
    [say("Server"), row.server],
    ...(row.via === undefined ? [] : [[say("Via"), row.via] satisfies Fact]),
    ...portFact(row),
    [say("Place"), row.location || say("not known")],
    [say("Address"), row.ip || say("IPv6, or not known")],
    [say("Connected since"), timeOf(connectedSince(row))],
    [
      say("Last handshake"),
      row.latest_handshake === null ? say("none yet") : agoOf(row.latest_handshake, now),
    ],
    ...qualityFact(row),
    ...orderFacts(row),
    [say("Received"), bytesOf(carried.rx)],
    [say("Sent"), bytesOf(carried.tx)],
  ];
  return (
    <>
      <Keys row={row} />
      <Facts of={facts} />
    </>
  );
}

/** Reads the handshake again when there must be a newer one: once in two minutes, while the page is looked at. */
function useRenewal(handshake: string | null, now: number): void {
  const isDue = handshake !== null && now - Date.parse(handshake) > RENEWED_AFTER_MS;
  const turn = isDue && document.visibilityState === "visible" ? Math.floor(now / READ_AGAIN_MS) : 0;
  useEffect(() => {
    if (turn > 0) void refresh("tunnels");
  }, [turn]);
}
