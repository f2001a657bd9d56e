/** What the part `page` leaves in the page as `window.probe`: times are in milliseconds since the page was asked for. */
export interface Probe {
  times: Partial<Record<Moment, number>>;
  /** How many `traffic` messages the page has got so far. */
  updates: number;
}

/** `state`: the home is said to be protected. `traffic`: the first live figures are drawn. `rates`: the first rates. */
export type Moment = "state" | "traffic" | "rates";

/** A home of this size; the sandbox has three. */
const DEVICES = 20;
/** The gateway counts them every five seconds. */
const COUNTED_EVERY = 5;

/**
 * A script that runs before the page's. It notes when things are drawn and counts the traffic messages, and
 * `probe.feed(count)` gives the page so many more of them, a second apart by the gateway's clock, one in each frame.
 * From then on the gateway's own ones only time the next one of these, because time must not go back.
 */
export const PROBE = `(() => {
  const probe = window.probe = { times: {}, updates: 0 };
  const note = (moment) =>
    requestAnimationFrame(() => setTimeout(() => void (probe.times[moment] ??= performance.now())));
  const text = (selector) => document.querySelector(selector)?.textContent.trim() ?? "";
  new MutationObserver(() => {
    if (text(".state h1") === "Protected") note("state");
    if (/^[0-9]/.test(text(".rates .received"))) note("rates");
  }).observe(document, { subtree: true, childList: true, characterData: true });

  let deliver = null, latest = null, fed = null;
  const carry = (meter) => {
    meter.rx_bytes += Math.round(Math.random() * 1e6);
    meter.tx_bytes += Math.round(Math.random() * 1e5);
  };
  const next = () => {
    fed ??= {
      at: Date.parse(latest.at), count: 0, tunnels: latest.tunnels,
      devices: Array.from({ length: ${DEVICES} }, (_, number) =>
        ({ id: "02:00:00:00:01:" + String(number).padStart(2, "0"), rx_bytes: 0, tx_bytes: 0 })),
    };
    fed.at += 1000;
    fed.count++;
    for (const meter of [...fed.tunnels, ...fed.devices]) carry(meter);
    const devices = fed.count % ${COUNTED_EVERY} === 0 ? fed.devices : [];
    const payload = { at: new Date(fed.at).toISOString(), tunnels: fed.tunnels, devices };
    give({ data: JSON.stringify({ type: "traffic", payload }) });
  };
  const give = (message) => {
    probe.updates++;
    deliver(message);
    note("traffic");
  };
  probe.feed = async (count) => {
    for (; count > 0; count--) {
      await new Promise(requestAnimationFrame);
      next();
    }
  };
  const Real = WebSocket;
  window.WebSocket = class extends Real {
    set onmessage(listener) {
      deliver = listener;
      super.onmessage = listener && ((message) => {
        const { type, payload } = JSON.parse(message.data);
        if (type !== "traffic") return listener(message);
        latest = payload;
        if (fed === null) give(message);
        else next();
      });
    }
    get onmessage() {
      return super.onmessage;
    }
  };
})()`;
