import { Copy } from "../../ui/state";

/** What a server without pipelines shows: what to do next. */
export function FirstVisit() {
  const address = location.origin;
  return (
    <section className="first">
      <h1>No pipelines yet</h1>
      <p>This server has no pipelines. A pipeline is one file with the rules that must pass before a job may start.</p>
      <ol>
        <li><strong>Create a starter project</strong>, with pipelines that are ready to run:<Copy>interlock init my-pipelines</Copy></li>
        <li><strong>Serve it.</strong> Files are watched: a change takes effect within two seconds, with no restart.<Copy>interlock serve --pipelines my-pipelines/pipelines</Copy></li>
        <li><strong>Send a reading</strong>, from wherever your data lands:<Copy>{`interlock --server ${address} sensor set PIPELINE KEY complete=true`}</Copy></li>
      </ol>
      <p>To see a demo first, with sources that fail on purpose:<Copy>interlock demo</Copy></p>
    </section>
  );
}
