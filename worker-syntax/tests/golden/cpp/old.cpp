namespace shop {

template <typename T>
class Cart : public Base {
public:
    void add(const T& item) { items_.push_back(item); }
    int total() const;
private:
    std::vector<T> items_;
};

int Cart<int>::total() const {
    return sum(items_);
}

}  // namespace shop
