import { describe } from "bun:test";
import { gatewayClaims } from "./gateway.ts";

describe("a gateway with 2 network cards:", () => gatewayClaims(2));
