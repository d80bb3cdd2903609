type Props = { title: string };

export function Card({ title }: Props) {
  return <div className="card">{title}</div>;
}

export const List = (props: { items: string[] }) => (
  <ul>
    {props.items.map((item) => <li key={item}>{item}</li>)}
  </ul>
);
