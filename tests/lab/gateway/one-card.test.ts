import { long } from "../../fast.ts";
import { gatewayClaims } from "./gateway.ts";

const { describe } = long("the same gateway with one network card");

describe("a gateway with 1 network card:", () => gatewayClaims(1));
