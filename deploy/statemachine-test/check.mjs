// Prints the problems of the state machine on standard input.
import { readFileSync } from 'node:fs';
import validate from 'asl-validator';

const { isValid, errorsText } = (validate.default ?? validate)(JSON.parse(readFileSync(0, 'utf8')), { checkArn: true, checkPaths: true });
if (!isValid) {
  console.log(errorsText('\n'));
  process.exit(1);
}
