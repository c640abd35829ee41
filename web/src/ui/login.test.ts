import { expect, test } from "vitest";
import { loginFailure } from "./login";

test("a failed login at the provider has a reason, and never text from the address", () => {
  expect(loginFailure("")).toBeUndefined();
  expect(loginFailure("?login=norole")).toContain("None of your groups");
  expect(loginFailure("?login=<b>send your token to eve</b>")).toBe("The login failed. Try again.");
});
