import { useEffect } from "react";
import { type Session, useSession } from "./api/session";
import { knownZone } from "./model/time";
import { type Place, usePlace, useQuery } from "./route/route";
import { Zone } from "./ui/clock";
import { Me } from "./ui/me";
import { Login } from "./ui/login";
import { Link } from "./ui/link";
import { Shell } from "./ui/shell";
import { Empty, Loading } from "./ui/state";
import { Alerts } from "./view/alerts/alerts";
import { Config } from "./view/config/config";
import { Deadlines } from "./view/deadlines/deadlines";
import { Events } from "./view/events/events";
import { PipelineView } from "./view/pipeline/pipeline";
import { RunView } from "./view/run/run";
import { Trends } from "./view/trends/trends";
import { Timeline } from "./view/timeline/timeline";

export function App() {
  const { known, login, logout } = useSession();
  switch (known.state) {
    case "asking": return <Loading what="the server" />;
    case "unreachable": return <main className="login"><div className="state error" role="alert"><strong>The server cannot be reached.</strong> Trying again every two seconds.</div></main>;
    case "out": return <Login why={known.why} login={login} />;
    case "in": return <Page session={known.session} logout={logout} />;
  }
}

function titleOf(p: Place): string {
  switch (p.view) {
    case "timeline": return "Timeline";
    case "deadlines": return "Deadlines";
    case "events": return "Events";
    case "trends": return "Trends";
    case "alerts": return "Alerts";
    case "config": return "Config";
    case "pipeline": return p.id;
    case "run": return `${p.pipeline} ${p.date}`;
    case "unknown": return "Not found";
  }
}

function Page({ session, logout }: { session: Session; logout: () => Promise<void> }) {
  const place = usePlace();
  const [query] = useQuery();
  const asked = query.get("zone") ?? "local";
  const zone = knownZone(asked) ? asked : "UTC";
  const title = titleOf(place);
  useEffect(() => {
    document.title = `${title} · Interlock`;
  }, [title]);
  return (
    <Zone value={zone}>
      <Me value={session}>
        <Shell place={place} session={session} logout={logout}>
          <View place={place} />
        </Shell>
      </Me>
    </Zone>
  );
}

function View({ place }: { place: Place }) {
  switch (place.view) {
    case "timeline": return <Timeline />;
    case "deadlines": return <Deadlines />;
    case "events": return <Events />;
    case "trends": return <Trends />;
    case "alerts": return <Alerts />;
    case "config": return <Config />;
    case "pipeline": return <PipelineView key={place.id} id={place.id} />;
    case "run": return <RunView key={`${place.pipeline}/${place.schedule}/${place.date}`} {...place} />;
    case "unknown": return <Empty><h1>Page not found</h1><p><code>{place.path}</code> is not a view of the dashboard. <Link href="/">Go to the timeline</Link>.</p></Empty>;
  }
}
