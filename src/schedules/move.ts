import { GatewayError } from "../base/errors.ts";
import type { Catalogue } from "../servers/catalogue.ts";
import type { Controller } from "../tunnel/controller.ts";
import { elsewhere } from "./elsewhere.ts";

/**
 * Moves a connected tunnel to another server of its place; one that leads nowhere stays as it is. False if it has to
 * wait, because the tunnel is being connected. If it throws, the tunnel is as before.
 */
export async function moveElsewhere(controller: Controller, catalogue: Catalogue): Promise<boolean> {
  const { state, asked, isAsked } = controller;
  if (isAsked || state.name === "connecting" || state.name === "reconnecting") return false;
  if (state.name !== "connected") return true;
  const { server } = state.session;
  await controller
    .connect(elsewhere(catalogue, server, asked.wanted ?? server.name), asked)
    .catch((error: unknown) => {
      // A person's connect or disconnect counts instead.
      if (!(error instanceof GatewayError && error.code === "interrupted")) throw error;
    });
  return true;
}
