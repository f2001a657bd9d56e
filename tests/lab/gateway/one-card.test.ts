import { describe } from "bun:test";
import { gatewayClaims } from "./gateway.ts";

describe("a gateway with 1 network card:", () => gatewayClaims(1));
